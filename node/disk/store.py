"""One node's durable memory: a SQLite file with the log, heads, values, own games, the outbox, peers and bans.

Spec: docs/spec/store.md. Write-ahead logging with full synchronisation: what a method returned from survives a kill or a
power cut, and so does a whole `transaction` or nothing of it. One process at a time (see `node.disk.lockfile`), one thread.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from protocol.merkle import HASH_BYTES, leaf_hash

SCHEMA_VERSION: Final = 4

_BANS: Final = """
CREATE TABLE bans (
    key BLOB PRIMARY KEY, reason TEXT NOT NULL, times INTEGER NOT NULL, left_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID
"""

_LEAVES: Final = "CREATE TABLE leaves (number INTEGER PRIMARY KEY, hash BLOB NOT NULL) STRICT"

_SCHEMA: Final = f"""
CREATE TABLE log (number INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT;
{_LEAVES};
CREATE TABLE heads (size INTEGER NOT NULL, root BLOB NOT NULL, note BLOB NOT NULL, PRIMARY KEY (size, root)) STRICT;
CREATE TABLE kv (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE series (release BLOB PRIMARY KEY, counter INTEGER NOT NULL, ended INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE games (
    release BLOB NOT NULL, counter INTEGER NOT NULL, block BLOB NOT NULL, PRIMARY KEY (release, counter)
) STRICT;
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, key BLOB NOT NULL, payload BLOB NOT NULL,
    UNIQUE (kind, key)
) STRICT;
CREATE TABLE peers (
    address TEXT PRIMARY KEY, key BLOB NOT NULL, last_seen_unix_s INTEGER NOT NULL, score INTEGER NOT NULL,
    failures INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
{_BANS}"""

_HASH_ALL: Final = "INSERT INTO leaves SELECT number, leaf_hash(entry) FROM log"
_STEPS: Final = {1: ("ALTER TABLE outbox DROP COLUMN state",), 2: (_BANS,), 3: (_LEAVES, _HASH_ALL)}
"""What makes a store of each older format one of the next."""


class StoreError(Exception):
    """The store cannot be used; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Head:
    """A signed checkpoint that was seen: its size, root hash and signed note."""

    size: int
    root: bytes
    note: bytes


@dataclass(frozen=True, slots=True)
class Series:
    """Own counters under one release: the next unused one, and whether the series has had its final batch."""

    release: bytes
    counter: int
    ended: bool


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """Something to be sent until it is acknowledged, in order of `number`; (kind, key) is unique."""

    number: int
    kind: str
    key: bytes
    payload: bytes


@dataclass(frozen=True, slots=True)
class PeerRecord:
    """An address at which a peer was said or seen to be; `last_seen_unix_s` is 0 before the first connection."""

    address: str
    key: bytes
    last_seen_unix_s: int = 0
    score: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class BanRecord:
    """A peer that was banned `times` times, last for `reason`; `left_s` is what is left of its ban, 0 after it."""

    key: bytes
    reason: str
    times: int
    left_s: int


class Store:
    """The SQLite file at `path`, made when absent."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            try:
                self._prepare(path)
            except BaseException:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise StoreError(f"The store {path} cannot be read: {error}.") from error

    def close(self) -> None:
        """Closes the file; the store is not usable afterwards."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes inside are kept together, or none when an exception leaves; may be nested in another."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite ends it by itself at some errors, and leaves it open at others
                self._db.execute("ROLLBACK")
            raise

    # ---- log

    @property
    def log_size(self) -> int:
        """The number of log entries kept; their indices are 0 up to it."""
        (size,) = self._db.execute("SELECT coalesce(max(number) + 1, 0) FROM log").fetchone()
        return int(size)

    def append(self, entries: Iterable[bytes]) -> int:
        """Adds log entries at the end, and their leaf hashes, in one transaction; returns the new size."""
        with self.transaction():
            for number, entry in enumerate(entries, self.log_size):
                self._db.execute("INSERT INTO log VALUES (?, ?)", (number, entry))
                self._db.execute("INSERT INTO leaves VALUES (?, ?)", (number, leaf_hash(entry)))
            return self.log_size

    def entry(self, index: int) -> bytes | None:
        """The log entry at `index`."""
        row = self._db.execute("SELECT entry FROM log WHERE number = ?", (index,)).fetchone()
        return None if row is None else bytes(row[0])

    def entries(self, start: int, limit: int, max_bytes: int = 1 << 20) -> list[bytes]:
        """Up to `limit` entries from `start` on of up to `max_bytes` together; raises StoreError for a damaged one."""
        found: list[bytes] = []
        total = 0
        rows = self._db.execute("SELECT entry FROM log WHERE number >= ? ORDER BY number LIMIT ?", (start, limit))
        for (entry,) in rows:
            total += len(_require_bytes(entry))
            if total > max_bytes:
                break
            found.append(entry)
        rows.close()
        return found

    def iterate_log(self, start: int = 0) -> Iterator[bytes]:
        """All entries from `start` on, read a thousand at a time; raises StoreError for a damaged file."""
        query = "SELECT entry FROM log WHERE number >= ? ORDER BY number LIMIT 1000"
        with _damage():
            while page := self._db.execute(query, (start,)).fetchall():
                start += len(page)
                for (entry,) in page:
                    yield _require_bytes(entry)

    def leaves(self) -> Iterator[bytes]:
        """The leaf hashes of all entries, as they were when these were added; raises StoreError for a damaged one."""
        with _damage():
            for (found,) in self._db.execute("SELECT hash FROM leaves ORDER BY number"):
                if not isinstance(found, bytes) or len(found) != HASH_BYTES:
                    raise StoreError("The log in the store is damaged: a hash is none.")
                yield found

    def hash_anew(self) -> None:
        """Makes the leaf hashes of the entries as they are now; raises StoreError for a damaged file."""
        with _damage(), self.transaction():
            self._db.execute("DELETE FROM leaves")
            self._db.execute(_HASH_ALL)

    # ---- heads

    def put_head(self, head: Head) -> None:
        """Keeps a head; a longer note of the same tree (more cosignatures) replaces the one kept."""
        self._db.execute(
            "INSERT INTO heads VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET note = excluded.note"
            " WHERE length(excluded.note) > length(note)",
            (head.size, head.root, head.note),
        )

    def newest_head(self, most: int = 2**63 - 1) -> Head | None:
        """The head with the largest size that is at most `most`."""
        row = self._db.execute(
            "SELECT size, root, note FROM heads WHERE size <= ? ORDER BY size DESC LIMIT 1", (most,)
        ).fetchone()
        return None if row is None else Head(*row)

    def heads(self, start: int = 0, limit: int = 1000) -> list[Head]:
        """Up to `limit` heads of size `start` or more, smallest first."""
        rows = self._db.execute(
            "SELECT size, root, note FROM heads WHERE size >= ? ORDER BY size, root LIMIT ?", (start, limit)
        )
        return [Head(*row) for row in rows]

    def heads_with(self, text: bytes, limit: int, most: int = 2**63 - 1) -> list[Head]:
        """Up to `limit` heads of size `most` or less whose note contains `text`, largest first."""
        rows = self._db.execute(
            "SELECT size, root, note FROM heads WHERE size <= ? AND instr(note, ?) ORDER BY size DESC LIMIT ?",
            (most, text, limit),
        )
        return [Head(*row) for row in rows]

    # ---- values

    def get(self, name: str) -> bytes | None:
        """The value under `name`."""
        row = self._db.execute("SELECT value FROM kv WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, name: str, value: bytes) -> None:
        """Sets the value under `name`."""
        self._db.execute("INSERT OR REPLACE INTO kv VALUES (?, ?)", (name, value))

    def delete(self, name: str) -> None:
        """Removes the value under `name`, if there is one."""
        self._db.execute("DELETE FROM kv WHERE name = ?", (name,))

    def names(self, prefix: str = "") -> list[str]:
        """The names that begin with `prefix`, in order."""
        rows = self._db.execute("SELECT name FROM kv WHERE substr(name, 1, ?) = ? ORDER BY name", (len(prefix), prefix))
        return [row[0] for row in rows]

    # ---- own counters and games

    def series(self, release: bytes) -> Series:
        """Own counters under `release`; (0, not ended) when nothing is known."""
        row = self._db.execute("SELECT counter, ended FROM series WHERE release = ?", (release,)).fetchone()
        return Series(release, 0, False) if row is None else Series(release, row[0], bool(row[1]))

    def put_series(self, series: Series) -> None:
        """Sets own counters under a release."""
        row = (series.release, series.counter, int(series.ended))
        self._db.execute("INSERT OR REPLACE INTO series VALUES (?, ?, ?)", row)

    def put_game(self, release: bytes, counter: int, block: bytes) -> None:
        """Keeps a finished game that is in no batch yet."""
        self._db.execute("INSERT OR REPLACE INTO games VALUES (?, ?, ?)", (release, counter, block))

    def games(self, release: bytes) -> list[tuple[int, bytes]]:
        """The kept games under `release`: (counter, block) in order of their counters."""
        rows = self._db.execute("SELECT counter, block FROM games WHERE release = ? ORDER BY counter", (release,))
        return [(row[0], bytes(row[1])) for row in rows]

    def games_count(self, release: bytes) -> int:
        """How many games under `release` are kept."""
        (count,) = self._db.execute("SELECT count(*) FROM games WHERE release = ?", (release,)).fetchone()
        return int(count)

    def drop_games(self, release: bytes, below: int) -> None:
        """Forgets the games under `release` with counters below `below` (in the transaction that keeps their batch)."""
        self._db.execute("DELETE FROM games WHERE release = ? AND counter < ?", (release, below))

    def keep_games(self, releases: Collection[bytes]) -> None:
        """Forgets the games under all other releases."""
        for (release,) in self._db.execute("SELECT DISTINCT release FROM games").fetchall():
            if release not in releases:
                self._db.execute("DELETE FROM games WHERE release = ?", (release,))

    def drop_all_games(self) -> None:
        """Forgets every kept game: they are played again."""
        self._db.execute("DELETE FROM games")

    def forget_own(self) -> None:
        """Forgets own counters, games and what waits to be logged: they were of a key that is no more."""
        with self.transaction():
            for table in ("series", "games", "outbox"):
                self._db.execute(f"DELETE FROM {table}")

    # ---- outbox

    def put_outbox(self, kind: str, key: bytes, payload: bytes) -> bool:
        """Adds an item unless (kind, key) is there already; whether it was added."""
        cursor = self._db.execute(
            "INSERT INTO outbox (kind, key, payload) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (kind, key, payload)
        )
        return cursor.rowcount == 1

    def outbox(self, kind: str) -> list[OutboxItem]:
        """The items of `kind`, in the order in which they were added."""
        rows = self._db.execute("SELECT * FROM outbox WHERE kind = ? ORDER BY number", (kind,))
        return [OutboxItem(*row) for row in rows]

    def waiting(self) -> list[OutboxItem]:
        """All items of all kinds, in the order in which they were added."""
        return [OutboxItem(*row) for row in self._db.execute("SELECT * FROM outbox ORDER BY number")]

    def waiting_count(self, kind: str | None = None) -> int:
        """How many items of `kind`, or of all kinds, there are."""
        (count,) = self._db.execute("SELECT count(*) FROM outbox WHERE ?1 IS NULL OR kind = ?1", (kind,)).fetchone()
        return int(count)

    def first_waiting(self, urgent: str) -> OutboxItem | None:
        """The item to be sent next: the oldest of kind `urgent`, else the oldest of all."""
        row = self._db.execute("SELECT * FROM outbox ORDER BY kind <> ?, number LIMIT 1", (urgent,)).fetchone()
        return None if row is None else OutboxItem(*row)

    def outbox_item(self, kind: str, key: bytes) -> OutboxItem | None:
        """The item (kind, key)."""
        row = self._db.execute("SELECT * FROM outbox WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return None if row is None else OutboxItem(*row)

    def drop_outbox(self, kind: str, key: bytes) -> None:
        """Removes an item, if it is there."""
        self._db.execute("DELETE FROM outbox WHERE kind = ? AND key = ?", (kind, key))

    # ---- peers

    def put_peer(self, peer: PeerRecord) -> None:
        """Sets what is known of an address."""
        row = (peer.address, peer.key, peer.last_seen_unix_s, peer.score, peer.failures)
        self._db.execute("INSERT OR REPLACE INTO peers VALUES (?, ?, ?, ?, ?)", row)

    def peers(self) -> list[PeerRecord]:
        """All known addresses, best score first."""
        rows = self._db.execute(
            "SELECT address, key, last_seen_unix_s, score, failures FROM peers ORDER BY score DESC, address"
        )
        return [PeerRecord(*row) for row in rows]

    def drop_peer(self, address: str) -> None:
        """Forgets an address."""
        self._db.execute("DELETE FROM peers WHERE address = ?", (address,))

    # ---- bans

    def put_ban(self, ban: BanRecord) -> None:
        """Sets what is known of a banned peer."""
        row = (ban.key, ban.reason, ban.times, ban.left_s)
        self._db.execute("INSERT OR REPLACE INTO bans VALUES (?, ?, ?, ?)", row)

    def bans(self) -> list[BanRecord]:
        """All peers that are banned or were."""
        return [BanRecord(*row) for row in self._db.execute("SELECT key, reason, times, left_s FROM bans ORDER BY key")]

    def drop_ban(self, key: bytes) -> None:
        """Forgets that a peer was banned."""
        self._db.execute("DELETE FROM bans WHERE key = ?", (key,))

    def _prepare(self, path: Path) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._db.create_function("leaf_hash", 1, leaf_hash, deterministic=True)
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            with self.transaction():
                for statement in _SCHEMA.split(";\n"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version in _STEPS:
            with self.transaction():
                for step in range(version, SCHEMA_VERSION):
                    for statement in _STEPS[step]:
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise StoreError(f"The store {path} has format {version}; this gonode reads format {SCHEMA_VERSION}.")
        self._check(path)

    def _check(self, path: Path) -> None:
        """Looks at every page but those of the log, which may be long: entries are compared with their hashes when read."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('log', 'leaves')"
        tables = self._db.execute(query).fetchall()
        for (table,) in tables:
            (found,) = self._db.execute(f"PRAGMA quick_check({table})").fetchone()
            if found != "ok":
                raise StoreError(f"The store {path} is damaged: {found}.")


@contextmanager
def _damage() -> Iterator[None]:
    """What SQLite finds wrong with the log, as a StoreError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(f"The log in the store is damaged: {error}.") from error


def _require_bytes(entry: object) -> bytes:
    if not isinstance(entry, bytes):
        raise StoreError("The log in the store is damaged: an entry is no bytes.")
    return entry
