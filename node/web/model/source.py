"""A node's store as the pages read it: entries, heads and known peers, while the node runs or after it stopped.

Page: docs/pages.md. Nothing is written: the store is opened read-only, each time anew, and never locked for long.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from node.disk.store import SCHEMA_VERSION, Head, StoreError
from node.reports.clock import cosignatures, seen_unix_s
from protocol.envelope import Envelope
from protocol.manifest import Manifest
from protocol.root import Root
from verification.root_versions import RootVersions
from verification.witness import WITNESS_PREFIX, witnesses

LOOKED_AT: Final = 1000
"""Among so many newest heads with any cosignature one that enough witnesses cosigned is looked for."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A verifier that cosigned a head, and when it says that it saw it."""

    key: bytes
    name: str
    unix_s: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A head that enough witnesses cosigned, and when: these ones, `threshold` or more of the `most` that count."""

    size: int
    root: bytes
    unix_s: int
    threshold: int
    most: int
    witnesses: tuple[Witness, ...]


class Source:
    """The store of `run`'s log, read-only."""

    def __init__(self, db: sqlite3.Connection, run: bytes) -> None:
        self._db = db
        self._run = run

    def log_size(self) -> int:
        """How many entries are stored."""
        (size,) = self._db.execute("SELECT coalesce(max(number) + 1, 0) FROM log").fetchone()
        return int(size)

    def roots(self, known: RootVersions, start: int, end: int) -> RootVersions:
        """The root versions among the entries below `end`; `known` are those below `start`."""
        query = "SELECT number, entry FROM log WHERE number >= ? AND number < ? AND instr(entry, ?) ORDER BY number"
        for number, entry in self._db.execute(query, (start, end, Root.payload_type().encode())):
            envelope = Envelope.parse(entry)
            if envelope.type == Root.payload_type():
                known = known.followed_by(number, Root.open(envelope, is_verified=True))
        return known

    def manifest(self, digest: bytes, below: int) -> Manifest:
        """The manifest version with this digest among the entries below `below`; StoreError where there is none."""
        query = "SELECT entry FROM log WHERE number >= 1 AND number < ? AND instr(entry, ?) ORDER BY number"
        for (entry,) in self._db.execute(query, (below, Manifest.payload_type().encode())):
            envelope = Envelope.parse(entry)
            if envelope.type == Manifest.payload_type() and envelope.digest == digest:
                return Manifest.open(envelope, is_verified=True)
        raise StoreError("The log in the store is damaged: a release's manifest is missing.")

    def target(self, roots: RootVersions, log_size: int) -> Seen | None:
        """The newest head of `log_size` entries or fewer that enough witnesses cosigned, up to which the log is shown."""
        query = "SELECT size, root, note FROM heads WHERE size <= ? AND instr(note, ?) ORDER BY size DESC LIMIT ?"
        rows = self._db.execute(query, (log_size, WITNESS_PREFIX.encode(), LOOKED_AT))
        return next((seen for row in rows if (seen := self._seen(row, roots)) is not None), None)

    def seen(self, after: int, size: int, roots: RootVersions) -> list[Seen]:
        """The heads of more than `after` entries that enough witnesses cosigned, smallest first, up to one of `size`."""
        found: list[Seen] = []
        for row in self._db.execute("SELECT size, root, note FROM heads WHERE size > ? ORDER BY size", (after,)):
            if found and found[-1].size >= size and row[0] > found[-1].size:
                break
            seen = self._seen(row, roots)
            if seen is not None:
                found.append(seen)
        return found

    def _seen(self, row: tuple[int, bytes, bytes], roots: RootVersions) -> Seen | None:
        head = Head(*row)
        found = cosignatures(head, self._run, roots)
        unix_s = seen_unix_s(found)
        if unix_s is None:
            return None
        below = roots.at(head.size)
        names = {role.key: role.name for role in below.verifiers}
        cosigners = tuple(Witness(each.key, names[each.key], each.unix_s) for each in found)
        most = len(witnesses(roots, head.size))
        return Seen(head.size, head.root, unix_s, below.witness_threshold, most, cosigners)

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
def reading_source(path: Path, run: bytes) -> Iterator[Source]:
    """The store of a node, running or not; raises StoreError or sqlite3.Error."""
    db = _opened(path)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if not 1 <= version <= SCHEMA_VERSION:  # what is read here is the same in all of them
            raise StoreError(
                f"The store {path} has format {version}; this gonode reads formats up to {SCHEMA_VERSION}."
            )
        db.execute("BEGIN")
        yield Source(db, run)
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
