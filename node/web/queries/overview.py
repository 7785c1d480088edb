"""The run at a glance: `/`."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from node.web.model.training import PASSED
from node.web.queries.records import one
from node.web.queries.releases import GateLine, ReleaseLine, gates, newest, open_gate, strongest
from node.web.queries.windows import HOURS, window_of

MOST_POINTS: Final = 500
"""So many of the newest gates are in the graph."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was logged in a stretch of time. Rates are None where heads give no time, or none has passed."""

    name: str
    seconds: int | None
    games: int
    plies: int
    verified_plies: int
    contributors: int
    verified_plies_per_s: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A network in the graph of strength; `release` is its number, `id` its name, None of a candidate.

    `state` is its gate's: `passed` or `refused`; a candidate that passed waits to be signed.
    """

    entry: int
    unix_s: int | None
    rows: int
    elo: float
    elo_error: float
    state: str
    release: int | None
    id: bytes | None


@dataclass(frozen=True, slots=True)
class Overview:
    """`phase` is what the run waits for: rows, training, gate or release; `rows_missing` counts for the first."""

    stretches: tuple[Stretch, ...]
    newest: ReleaseLine
    strongest: ReleaseLine | None
    phase: str
    released_rows: int
    rows_missing: int
    gate: GateLine | None
    points: tuple[Point, ...]


def overview(db: sqlite3.Connection) -> Overview:
    """The run as the log has it."""
    run = db.execute("SELECT phase, released_rows, rows_missing FROM run").fetchone()
    return Overview(
        stretches=tuple(_stretch(db, name) for name in HOURS),
        newest=newest(db),
        strongest=strongest(db),
        phase=run["phase"],
        released_rows=run["released_rows"],
        rows_missing=run["rows_missing"],
        gate=open_gate(db),
        points=_points(db),
    )


def _stretch(db: sqlite3.Connection, name: str) -> Stretch:
    window = window_of(db, name)
    games, plies, verified = db.execute(
        "SELECT coalesce(sum(verified_games + pending_games + rejected_games), 0),"
        " coalesce(sum(verified_plies + pending_plies + rejected_plies), 0), coalesce(sum(verified_plies), 0)"
        " FROM sums_by_hour WHERE hour >= ?",
        (window.hour,),
    ).fetchone()
    query = "SELECT count(*) FROM contributors WHERE last_hour >= ?"
    people = one(db, "SELECT count(*) FROM sums_by_key") if name == "all" else one(db, query, (window.hour,))
    rate = verified / window.seconds if window.seconds else None
    return Stretch(name, window.seconds, games, plies, verified, people, rate)


def _points(db: sqlite3.Connection) -> tuple[Point, ...]:
    rows = db.execute("SELECT number, id, entry, unix_s FROM releases ORDER BY number").fetchall()
    ids = {row["number"]: row["id"] for row in rows}
    first = rows[0]
    found = [Point(first["entry"], first["unix_s"], 0, 0.0, 0.0, PASSED, 0, first["id"])]
    for gate in gates(db, MOST_POINTS):
        if gate.elo is not None and gate.elo_error is not None:
            name = None if gate.release is None else ids.get(gate.release)
            found.append(
                Point(gate.entry, gate.unix_s, gate.rows, gate.elo, gate.elo_error, gate.state, gate.release, name)
            )
    return tuple(found)
