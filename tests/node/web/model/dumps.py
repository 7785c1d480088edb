"""What a file of the pages holds, to be compared, and the file made of a log in parts of any size. For tests."""

import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from node.web.model.projection import Projection
from node.web.model.schema import open_to_write, writing
from node.web.model.source import Seen, Witness
from node.web.model.sums import FATES, TABLES, UNITS
from verification.state import LogState

MINUTES_AN_ENTRY = 7


def minute(index: int) -> int | None:
    """A time for each entry, but for some."""
    return None if index % 50 == 49 else 1_700_000_000 + 60 * MINUTES_AN_ENTRY * index


def head_over(index: int) -> Seen | None:
    """A head each ten entries, but for some."""
    size = index - index % 10 + 10
    return None if size % 50 == 0 else Seen(size, bytes(32), size, 1, 2, (Witness(bytes([1]) * 32, "one", size + 7),))


def dump(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables."""
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {name: sorted(map(tuple, db.execute(f"SELECT * FROM {name}")), key=repr) for name in names}


def projected(
    path: Path, run: bytes, entries: Sequence[bytes], rng: random.Random | None
) -> tuple[sqlite3.Connection, LogState]:
    """The file of a log, taken in at once, or with `rng` in parts, now and then by a process that starts anew."""
    db, state = open_to_write(path, run), LogState(run)
    projection = Projection(db, state)
    while state.size < len(entries):
        end = len(entries) if rng is None else min(len(entries), state.size + rng.choice((1, 2, 5, 30)))
        applied = [state.apply(data, is_verified=True) for data in entries[state.size : end]]
        if rng is not None and rng.random() < 0.1:
            projection = Projection(db, state)
        with writing(db):
            projection.take(applied, minute, head_over)
    return db, state


def sums_of(db: sqlite3.Connection, table: str) -> dict[str, int]:
    """The totals of a table of sums."""
    columns = ", ".join(f"coalesce(sum({fate}_{unit}), 0) AS {fate}_{unit}" for fate in FATES for unit in UNITS)
    db.row_factory = sqlite3.Row
    return dict(db.execute(f"SELECT {columns} FROM {table}").fetchone())


def require_totals(db: sqlite3.Connection, state: LogState) -> None:
    """The file's sums are those of the state, in all and for each identity."""
    total = state.batches.total()
    for table in TABLES:
        found = sums_of(db, table)
        assert sum(found[f"{fate}_batches"] for fate in FATES) == total.batches, table
        assert sum(found[f"{fate}_plies"] for fate in FATES) == total.plies, table
        games = {fate: found[f"{fate}_games"] for fate in FATES}
        assert games == {"verified": total.verified, "pending": total.pending, "rejected": total.rejected}, table
        assert (found["verified_plies"], found["verified_visits"]) == (total.credit_plies, total.credit_visits), table
    for identity in state.batches.identities:
        row = db.execute("SELECT * FROM sums_by_key WHERE key = ?", (identity.peer,)).fetchone()
        tally = identity.tally
        games = (0, 0, 0) if row is None else tuple(row[f"{fate}_games"] for fate in FATES)
        assert games == (tally.verified, tally.pending, tally.rejected)
        assert (0 if row is None else row["verified_plies"]) == tally.credit_plies
