"""What a verifier keeps for the coordinator: entries with their blobs, on disk, within quotas.

Spec: `docs/spec/swarm.md` ("Mirrors"). Invariants: an entry is in the store before anybody hears that it is kept, and its
blob before that; nothing that is kept gives way to what comes later.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import trio

from node.disk.store import Store
from node.peering.call import CallRefused
from node.peering.post import MIRRORED, Posted
from protocol.entries import Entry, parse_entry
from protocol.errors import ProtocolError
from protocol.gate import GateResult
from protocol.header import BatchHeader
from protocol.words import counted

PREFIX: Final = "kept/"


@dataclass(frozen=True, slots=True)
class Quota:
    """The most entries, and bytes of their blobs, of one contributor and of all together."""

    entries_each: int = 256
    bytes_each: int = 128 << 20
    entries: int = 4096
    bytes: int = 2 << 30


@dataclass(slots=True, eq=False)
class Kept:
    """One entry that is kept; `outcome` is what the coordinator answered last.

    `has_new_blob`: its blob was fetched for it in this life of the node.
    """

    number: int
    entry: Entry
    data: bytes
    has_new_blob: bool = False
    not_before_s: float = 0.0
    is_told: bool = False
    outcome: Posted | CallRefused | None = None
    moved: trio.Event = field(default_factory=trio.Event)

    @property
    def record(self) -> BatchHeader | GateResult:
        """The record inside."""
        assert isinstance(self.entry.record, BatchHeader | GateResult)
        return self.entry.record

    @property
    def digest(self) -> bytes:
        """SHA-256 of the payload."""
        return self.entry.envelope.digest

    @property
    def author(self) -> bytes:
        """Whose games it is about."""
        return author_of(self.record)

    def settle(self, outcome: Posted | CallRefused | None) -> None:
        """Notes what became of a try to pass it on, and wakes who waits for that."""
        self.outcome = outcome
        self.moved.set()
        self.moved = trio.Event()


class Shelf:
    """The kept entries of a store, oldest first."""

    def __init__(self, store: Store, quota: Quota) -> None:
        self._store = store
        self._quota = quota
        self._kept: dict[bytes, Kept] = {}
        self._coming: list[BatchHeader | GateResult] = []
        self._next = 0
        for name in store.names(PREFIX):
            data = store.get(name) or b""
            number = int(name.removeprefix(PREFIX), 16)
            try:
                entry = parse_entry(data)
            except ProtocolError:
                store.delete(name)  # a damaged value; its author has it
                continue
            if isinstance(entry.record, MIRRORED):
                self._kept[entry.envelope.digest] = Kept(number, entry, data)
                self._next = number + 1

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Kept]:
        return iter(tuple(self._kept.values()))

    def find(self, digest: bytes) -> Kept | None:
        """The kept entry with this payload digest."""
        return self._kept.get(digest)

    @contextmanager
    def room(self, record: BatchHeader | GateResult) -> Iterator[None]:
        """Has room for an entry while it comes; raises CallRefused when its author's quota, or everybody's, is used up."""
        self._require_room(record)
        self._coming.append(record)
        try:
            yield
        finally:
            self._coming.remove(record)

    def add(self, entry: Entry, data: bytes, has_new_blob: bool) -> Kept:
        """Keeps an entry whose blob is on disk; sqlite3.Error when the disk is full."""
        kept = Kept(self._next, entry, data, has_new_blob)
        self._store.put(_name(kept), data)
        self._next += 1
        self._kept[kept.digest] = kept
        return kept

    def drop(self, kept: Kept) -> None:
        """Keeps an entry no longer."""
        self._store.delete(_name(kept))
        self._kept.pop(kept.digest, None)

    def names(self, blob_digest: bytes) -> bool:
        """Whether a kept entry names this blob."""
        return any(kept.record.blob_digest == blob_digest for kept in self._kept.values())

    def _require_room(self, record: BatchHeader | GateResult) -> None:
        quota, author = self._quota, author_of(record)
        lengths = [(author_of(each), each.blob_len) for each in (*(kept.record for kept in self), *self._coming)]
        own = [length for each, length in lengths if each == author]
        if len(own) >= quota.entries_each or sum(own) + record.blob_len > quota.bytes_each:
            raise CallRefused(f"This verifier keeps {counted(len(own), 'entry', 'entries')} of this peer, and no more.")
        if len(lengths) >= quota.entries or sum(length for _, length in lengths) + record.blob_len > quota.bytes:
            raise CallRefused(f"This verifier keeps {counted(len(lengths), 'entry', 'entries')}, and no more.")


def author_of(record: BatchHeader | GateResult) -> bytes:
    """Who played the games."""
    return record.peer if isinstance(record, BatchHeader) else record.player


def _name(kept: Kept) -> str:
    return f"{PREFIX}{kept.number:016x}"
