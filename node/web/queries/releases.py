"""Releases and candidates: `/releases` and `/releases/{hash}`."""

import sqlite3
from dataclasses import dataclass

from node.web.model.signings import ACTS
from node.web.queries.games import GameLine, showcase
from node.web.queries.records import PAGE, Listed, NotFound, found, numbered
from protocol.layout import release_path, statement_path
from protocol.statement.documents import NAMES

_LINE = """
SELECT r.number, r.id, r.name, r.parent, p.number AS parent_number, r.network, r.network_bytes, r.shape, r.steps, r.samples,
    r.rows, r.entry, r.unix_s, r.train_entry, r.gate_entry, r.statement_entry,
    CASE WHEN r.number = 0 THEN 0.0 ELSE g.elo END AS elo, CASE WHEN r.number = 0 THEN 0.0 ELSE g.elo_error END AS elo_error,
    coalesce(s.verified_games + s.pending_games + s.rejected_games, 0) AS games,
    coalesce(s.verified_plies, 0) AS verified_plies
FROM releases r LEFT JOIN gates g ON g.release = r.number LEFT JOIN releases p ON p.id = r.parent
    LEFT JOIN sums_by_release s ON s.release = r.number
"""
_GATE = """
SELECT entry, cycle, network, shape, steps, samples, rows, base, kind, elo0, elo1, pairs, played, counts, llr_micro, state,
    record_entry, release, unix_s, elo, elo_error FROM gates
"""


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """A release. `games` were logged with it, `verified_plies` of them accepted. Elo is above release 0, with half of its
    95 % interval."""

    number: int
    id: bytes
    name: str
    parent: bytes
    parent_number: int | None
    network: bytes
    network_bytes: int
    shape: str
    steps: int
    samples: int
    rows: int
    entry: int
    unix_s: int | None
    train_entry: int
    gate_entry: int
    statement_entry: int | None
    elo: float | None
    elo_error: float | None
    games: int
    verified_plies: int


@dataclass(frozen=True, slots=True)
class GateLine:
    """The gate of the candidate whose train record is at `entry`; `state` is open, passed or refused.

    `pairs` are counted, `played` those with a result; `counts` are pairs by score, from 0 to 1 in quarters; `elo0` and
    `elo1` bounds as the policy `kind` has them.
    """

    entry: int
    cycle: int
    network: bytes
    shape: str
    steps: int
    samples: int
    rows: int
    base: int
    kind: str
    elo0: int
    elo1: int
    pairs: int
    played: int
    counts: str
    llr_micro: int
    state: str
    record_entry: int | None
    release: int | None
    unix_s: int | None
    elo: float | None
    elo_error: float | None

    @property
    def scores(self) -> tuple[int, ...]:
        """Pairs that scored 0, a quarter, a half, three quarters and 1."""
        return tuple(map(int, self.counts.split(",")))


@dataclass(frozen=True, slots=True)
class SignatureLine:
    """One signature by `key`, which the root names `name` (empty: a key of the root itself), and when."""

    key: bytes
    name: str
    unix_s: int | None


@dataclass(frozen=True, slots=True)
class SigningLine:
    """What was signed: `act` is manifest, release, statement or head; `at` the entry, of a head its size.

    `threshold` of the `most` keys that may sign had to.
    """

    act: str
    at: int
    unix_s: int | None
    threshold: int
    most: int
    signatures: tuple[SignatureLine, ...]


@dataclass(frozen=True, slots=True)
class ReleaseAnswer:
    """A release, how it became one, what it comes from and what came of it.

    `signings`: the release, its statement, and the first head kept here that has it. `ancestry`: from the one before back to
    release 0, the first PAGE of them. `candidates` were measured against it. `witnesses` are those of now.
    """

    release: ReleaseLine
    gate: GateLine | None
    signings: tuple[SigningLine, ...]
    ancestry: tuple[ReleaseLine, ...]
    candidates: tuple[GateLine, ...]
    files: tuple[str, ...]
    witnesses: int
    witness_threshold: int
    showcase: GameLine | None


def releases(db: sqlite3.Connection, before: str | None = None) -> Listed[ReleaseLine]:
    """Releases, newest first."""
    query = f"{_LINE} WHERE r.number < ? ORDER BY r.number DESC LIMIT ?"
    items = found(db, ReleaseLine, query, (numbered(before), PAGE))
    return Listed(items, str(items[-1].number) if items and items[-1].number > 0 else None)


def newest(db: sqlite3.Connection) -> ReleaseLine:
    """The release that is played now."""
    return found(db, ReleaseLine, f"{_LINE} ORDER BY r.number DESC LIMIT 1")[0]


def strongest(db: sqlite3.Connection) -> ReleaseLine | None:
    """The release of most Elo, None before there are two."""
    query = f"{_LINE} WHERE r.number > 0 AND g.elo IS NOT NULL ORDER BY g.elo DESC LIMIT 1"
    return next(iter(found(db, ReleaseLine, query)), None)


def release(db: sqlite3.Connection, release_id: bytes) -> ReleaseAnswer:
    """One release by its id; raises NotFound."""
    items = found(db, ReleaseLine, f"{_LINE} WHERE r.id = ?", (release_id,))
    if not items:
        raise NotFound("The log has no such release.")
    line = items[0]
    gates = found(db, GateLine, f"{_GATE} WHERE release = ?", (line.number,))
    ancestry = found(db, ReleaseLine, f"{_LINE} WHERE r.number < ? ORDER BY r.number DESC LIMIT ?", (line.number, PAGE))
    candidates = found(db, GateLine, f"{_GATE} WHERE base = ? ORDER BY entry DESC LIMIT ?", (line.number, PAGE))
    verifiers = db.execute(
        "SELECT count(*) FROM roles, run WHERE role = 'verifier' AND (ends IS NULL OR ends > run.size)"
    ).fetchone()[0]
    threshold = db.execute("SELECT witness_threshold FROM run").fetchone()[0]
    gate, signed, shown = next(iter(gates), None), _signings(db, line.number), showcase(db, line.number)
    return ReleaseAnswer(line, gate, signed, ancestry, candidates, _files(line), verifiers, threshold, shown)


def _signings(db: sqlite3.Connection, number: int) -> tuple[SigningLine, ...]:
    """What was signed about a release, in the order in which it was."""
    query = "SELECT key, name, unix_s FROM signatures WHERE release = ? AND act = ? ORDER BY number"
    rows = db.execute("SELECT act, at, unix_s, threshold, most FROM signings WHERE release = ?", (number,)).fetchall()
    lines = [SigningLine(**dict(row), signatures=found(db, SignatureLine, query, (number, row["act"]))) for row in rows]
    return tuple(sorted(lines, key=lambda line: ACTS.index(line.act)))


def open_gate(db: sqlite3.Connection) -> GateLine | None:
    """The gate that is played now."""
    return next(iter(found(db, GateLine, f"{_GATE} WHERE state = 'open' ORDER BY entry DESC LIMIT 1")), None)


def gates(db: sqlite3.Connection, most: int) -> tuple[GateLine, ...]:
    """The newest gates that are decided, in the order of the log."""
    return found(db, GateLine, f"{_GATE} WHERE state <> 'open' ORDER BY entry DESC LIMIT ?", (most,))[::-1]


def _files(line: ReleaseLine) -> tuple[str, ...]:
    """Paths in the public folder."""
    if line.number == 0:
        return ()
    stated = NAMES if line.statement_entry is not None else ()
    return (release_path(line.number, line.name), *(statement_path(line.number, line.name, name) for name in stated))
