"""Sums over batches, kept as they change: by key, by hour, by key and hour, by release.

Page: docs/pages.md. Invariants: a sum is that of the rows of `batches` that it is about; a sum of nothing has no row.
"""

import sqlite3
from collections import defaultdict
from typing import Final, NamedTuple

VERIFIED: Final = "verified"
PENDING: Final = "pending"
REJECTED: Final = "rejected"
RINGER: Final = "ringer"
"""A batch of the coordinator's own, wrong on purpose: it counts in no sum."""
FATES: Final = (VERIFIED, PENDING, REJECTED)
UNITS: Final = ("batches", "games", "plies", "visits")
COLUMNS: Final = tuple(f"{fate}_{unit}" for fate in FATES for unit in UNITS)
HOUR_S: Final = 3600
DAY_HOURS: Final = 24
NO_HOUR: Final = -1
"""The hour of what no head has a time for."""
MOST: Final = 2**63 - 1
"""The largest number that SQLite holds."""
MOST_VISITS: Final = 2**40
"""More than a batch can have; a header may say anything until it is judged, and sums must hold it."""

TABLES: Final = {
    "sums_by_hour": ("hour",),
    "sums_by_key": ("key",),
    "sums_by_key_hour": ("hour", "key"),
    "sums_by_key_day": ("day", "key"),
    "sums_by_release": ("release",),
}


class BatchRow(NamedTuple):
    """A batch of the log: `number` is its header's entry, `key` whose it is now, `release` a release's number."""

    number: int
    key: bytes
    release: int
    unix_s: int | None
    games: int
    plies: int
    visits: int
    fate: str

    @property
    def hour(self) -> int:
        """Hours since 1970 at which it was logged."""
        return hour_of(self.unix_s)


def hour_of(unix_s: int | None) -> int:
    """The hour that a time lies in."""
    return NO_HOUR if unix_s is None else unix_s // HOUR_S


def capped(number: int) -> int:
    """A number of the log, which may be larger than the file holds."""
    return min(number, MOST)


def schema() -> str:
    """The tables of sums."""
    sums = ", ".join(f"{column} INTEGER NOT NULL" for column in COLUMNS)
    types = {"hour": "INTEGER", "day": "INTEGER", "key": "BLOB", "release": "INTEGER"}
    return (
        "".join(
            f"CREATE TABLE {table} ({', '.join(f'{name} {types[name]} NOT NULL' for name in key)}, {sums}, "
            f"PRIMARY KEY ({', '.join(key)})) STRICT, WITHOUT ROWID;\n"
            for table, key in TABLES.items()
        )
        + "CREATE INDEX hours_of_key ON sums_by_key_hour (key, hour);\n"
    )


class SumChanges:
    """What the batches of one transaction add to the sums and take from them."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, tuple[object, ...]], list[int]] = defaultdict(lambda: [0] * len(COLUMNS))

    def add(self, row: BatchRow) -> None:
        """A batch is new, or is so from now on."""
        self._count(row, 1)

    def take(self, row: BatchRow) -> None:
        """A batch was so until now."""
        self._count(row, -1)

    def write(self, db: sqlite3.Connection) -> None:
        """Writes the new sums."""
        for (table, key), changes in self._found.items():
            if not any(changes):
                continue
            names = TABLES[table]
            marks = ", ".join("?" * (len(names) + len(COLUMNS)))
            news = ", ".join(f"{column} = {column} + excluded.{column}" for column in COLUMNS)
            db.execute(
                f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO UPDATE SET {news}",
                (*key, *changes),
            )
            if min(changes) < 0:
                is_it = " AND ".join(f"{name} = ?" for name in names)
                count = " + ".join(f"{fate}_batches" for fate in FATES)
                db.execute(f"DELETE FROM {table} WHERE {is_it} AND {count} = 0", key)

    def _count(self, row: BatchRow, sign: int) -> None:
        if row.fate == RINGER:
            return
        first = FATES.index(row.fate) * len(UNITS)
        values = (1, row.games, row.plies, row.visits)
        keys: dict[str, tuple[object, ...]] = {
            "sums_by_hour": (row.hour,),
            "sums_by_key": (row.key,),
            "sums_by_key_hour": (row.hour, row.key),
            "sums_by_key_day": (row.hour // DAY_HOURS, row.key),
            "sums_by_release": (row.release,),
        }
        for target in keys.items():
            sums = self._found[target]
            for place, value in enumerate(values, first):
                sums[place] += sign * value
