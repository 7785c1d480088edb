"""A node's store as the pages read it: entries, heads and known peers, while the node runs or after it stopped.

Page: docs/pages.md. Nothing is written: the store is opened read-only, each time anew, and never locked for long.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from node.disk.store import SCHEMA_VERSION, Head, StoreError
from node.reports.clock import Clock, seen_unix_s

LOOKED_AT: Final = 256
"""Among so many newest heads one that a witness saw is looked for."""


class Source:
    """The store at `path`, read-only."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def target(self) -> Head | None:
        """The newest head that witnesses saw, up to which the log is shown; the newest one where they saw none."""
        rows = self._db.execute(
            "SELECT size, root, note FROM heads WHERE size <= (SELECT coalesce(max(number) + 1, 0) FROM log)"
            " ORDER BY size DESC LIMIT ?",
            (LOOKED_AT,),
        )
        heads = [Head(*row) for row in rows]
        return next((head for head in heads if seen_unix_s(head) is not None), heads[0] if heads else None)

    def roots(self, size: int) -> list[bytes]:
        """The root hashes that heads of this size have."""
        return [bytes(root) for (root,) in self._db.execute("SELECT root FROM heads WHERE size = ?", (size,))]

    def last_head(self, after: int, most: int) -> int | None:
        """The largest size of a head in `after` < size <= `most`."""
        query = "SELECT max(size) FROM heads WHERE size > ? AND size <= ?"
        (size,) = self._db.execute(query, (after, most)).fetchone()
        return None if size is None else int(size)

    def clock(self, after: int, size: int, unix_s: int | None) -> Clock:
        """The times of entries from `after` on, which was at `unix_s`, up to the log of `size` entries."""
        points = [] if unix_s is None else [(after, unix_s)]
        for row in self._db.execute("SELECT size, root, note FROM heads WHERE size > ? ORDER BY size", (after,)):
            unix_s = seen_unix_s(Head(*row))
            if unix_s is not None:
                points.append((row[0], unix_s))
                if row[0] >= size:
                    break
        return Clock(points)

    def entries(self, start: int, end: int) -> Sequence[bytes]:
        """The entries from `start` up to `end`; StoreError when one is missing or no bytes."""
        rows = self._db.execute("SELECT entry FROM log WHERE number >= ? AND number < ? ORDER BY number", (start, end))
        found = [row[0] for row in rows]
        if len(found) != end - start or not all(isinstance(entry, bytes) for entry in found):
            raise StoreError("The log in the store is damaged: an entry is missing or no bytes.")
        return found

    def known_peers(self) -> tuple[int, int | None]:
        """How many other nodes are known, and when one was last seen."""
        query = "SELECT count(DISTINCT key), max(last_seen_unix_s) FROM peers WHERE length(key) > 0"
        count, last = self._db.execute(query).fetchone()
        return int(count), last or None


@contextmanager
def reading_source(path: Path) -> Iterator[Source]:
    """The store of a node, running or not; raises StoreError or sqlite3.Error."""
    db = _opened(path)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA_VERSION:
            raise StoreError(f"The store {path} has format {version}; this gonode reads format {SCHEMA_VERSION}.")
        db.execute("BEGIN")
        yield Source(db)
    finally:
        db.close()


def _opened(path: Path) -> sqlite3.Connection:
    """Read-only; of a node that does not run also where nothing can be written beside the file."""
    uri = path.absolute().as_uri()
    db = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    try:
        db.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.OperationalError:
        db.close()
        if Path(f"{path}-wal").exists():
            raise
        db = sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA query_only = ON")
    return db
