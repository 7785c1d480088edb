"""Serves the log to peers from this node's own copy: `/gonode/log/1`.

Spec: docs/spec/wire.md ("Log"). Calls answer with the newest head and the newest one that enough witnesses cosigned; with
entries from an index on and the proof that the tree up to them is a prefix of a head's; the root that a smaller tree had;
the root versions that follow one. All are bounded, and calls for entries in number: in all, and for each peer, so that no
few peers keep the others out.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from node.disk.store import Store
from node.peering.call import CallRefused, Malformed, serve_calls
from node.peering.pace import SharedPace
from node.peering.transport import MAX_FRAME, Transport
from protocol import codec
from protocol.checkpoint import ED25519, Checkpoint, SignedNote
from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.errors import BadSignature, WrongSigner
from protocol.merkle import Tree
from protocol.root import COORDINATOR, Root
from protocol.seeds import log_origin
from verification.witness import WITNESS_PREFIX, witness_name, witnesses

LOG_PROTOCOL: Final = "/gonode/log/1"
MAX_ENTRIES: Final = 4096
MAX_ENTRY_BYTES_TOGETHER: Final = 1 << 20

ENTRIES_PER_S: Final = 40.0
"""Calls for entries that are answered a second; ENTRIES_BURST of them at once."""

ENTRIES_BURST: Final = 80.0

PEER_ENTRIES_PER_S: Final = 4.0
"""The same of one peer: a verifier needs one for each head."""

PEER_ENTRIES_BURST: Final = 16.0

MAX_ROOTS: Final = 8
"""Root versions in one answer."""

AHEAD_KEY: Final = "roots-ahead"
"""Where a node keeps root versions that it learned before its log had them (`node.following.roots`)."""

_LOOK_AT: Final = 64


class Replica(Protocol):
    """A log's state as far as the exchange needs it; `verification.state.LogState` is one."""

    @property
    def run(self) -> bytes:
        """The run id."""

    @property
    def size(self) -> int:
        """The number of entries applied."""

    @property
    def tree(self) -> Tree:
        """The tree over them."""

    @property
    def root(self) -> Root:
        """The root record in force (once entry 0 is applied)."""

    @property
    def root_indices(self) -> Sequence[int]:
        """The log indices of the root versions, version 1 first."""

    def apply(self, entry: bytes, *, is_verified: bool = False) -> Entry:
        """Applies the next entry, whose signatures may be known to hold; raises LogFault or ProtocolError without change."""


class LogService:
    """Answers from `replica` and `store`, which holds at least the entries that the replica has applied."""

    def __init__(self, transport: Transport, replica: Replica, store: Store) -> None:
        self._replica = replica
        self._store = store
        self._pace = SharedPace((PEER_ENTRIES_PER_S, PEER_ENTRIES_BURST), (ENTRIES_PER_S, ENTRIES_BURST))
        serve_calls(transport, LOG_PROTOCOL, self._answer, max_bytes=256)

    async def _answer(self, peer: bytes, request: bytes) -> bytes:
        match codec.decode(request, 256):
            case {"op": "head", **rest} if not rest:
                return codec.encode(self._head())
            case {"op": "entries", "start": int(start), "limit": int(limit), "size": int(size), **rest} if (
                not rest and not _has_flag(start, limit, size)
            ):
                self._require(start, size)
                if not self._pace.take(peer):
                    raise CallRefused("This node is busy: ask another one, or again later.")
                return codec.encode(self._entries(start, limit, size))
            case {"op": "prefix", "old": int(old), "new": int(new), **rest} if not rest and not _has_flag(old, new):
                return codec.encode(self._prefix(old, new))
            case {"op": "roots", "version": int(version), **rest} if not rest and not _has_flag(version):
                if not self._pace.take(peer):
                    raise CallRefused("This node is busy: ask another one, or again later.")
                return codec.encode({"roots": self._roots(version)})
        raise Malformed("This is not a request for a log's head, entries, prefix or roots.")

    def _head(self) -> dict[str, codec.Value]:
        head = self._store.newest_head(self._replica.size)
        if head is None:
            raise CallRefused("There is no signed head here yet.")
        return {"checkpoint": head.note, "cosigned": self._cosigned(), "size": head.size}

    def _cosigned(self) -> bytes:
        """The note of the newest head that enough witnesses cosigned; empty without one."""
        for head in self._store.heads_with(WITNESS_PREFIX.encode(), _LOOK_AT, self._replica.size):
            root, note = root_at(self._replica, self._store, head.size), SignedNote.parse(head.note)
            names = {witness_name(key) for key in witnesses(root, head.size)}
            if sum(line.name in names for line in note.signatures) >= root.witness_threshold and self._is_signed(note):
                return head.note
        return b""

    def _is_signed(self, note: SignedNote) -> bool:
        """Whether a note of the store has a line by a coordinator whom the newest root lets sign it; others refuse it."""
        origin, last = log_origin(self._replica.run), max(Checkpoint.parse(note.text).size, 1) - 1
        for role in self._replica.root.roles:
            if role.role == COORDINATOR and role.is_valid_at(last):
                with suppress(BadSignature, WrongSigner):
                    return bool(note.find(origin, role.key, ED25519))
        return False

    def _roots(self, version: int) -> list[bytes]:
        """Envelopes of root versions after `version`: the logged ones, and those that this node learned ahead of its log."""
        indices = self._replica.root_indices
        wanted = indices[max(version, 0) : max(version, 0) + MAX_ROOTS]
        found = [entry for index in wanted if (entry := self._store.entry(index)) is not None]
        after = max(version, self._replica.root.version)  # others of a number that is logged help nobody
        ahead = [data for data in stored_ahead(self._store) if root_in(data).version > after]
        roots: list[bytes] = []
        for data in [*found, *ahead]:
            if len(roots) < MAX_ROOTS and sum(map(len, roots)) + len(data) <= MAX_ENTRY_BYTES_TOGETHER:
                roots.append(data)
        return roots

    def _entries(self, start: int, limit: int, size: int) -> dict[str, codec.Value]:
        limit = min(max(limit, 0), MAX_ENTRIES, size - start)
        entries: Sequence[bytes] = self._store.entries(start, limit, MAX_ENTRY_BYTES_TOGETHER)
        proof = self._replica.tree.consistency_proof(start + len(entries), size)
        return {"entries": entries, "proof": proof}

    def _prefix(self, old: int, new: int) -> dict[str, codec.Value]:
        self._require(old, new)
        tree = self._replica.tree
        return {"proof": tree.consistency_proof(old, new), "root": tree.root(old)}

    def _require(self, start: int, size: int) -> None:
        if not 0 <= start <= size <= self._replica.size:
            raise CallRefused(f"The log here has {self._replica.size} entries, not {start} to {size}.")


def root_at(replica: Replica, store: Store, size: int) -> Root:
    """The root version that judges a head of `size` entries of the replica's own log: the newest one below it."""
    index = max((each for each in replica.root_indices if each < size), default=0)
    entry = None if index == replica.root_indices[-1] else store.entry(index)
    return replica.root if entry is None else root_in(entry)


def root_in(entry: bytes) -> Root:
    """The root version in an envelope; its signatures are known to hold."""
    return Root.parse(Envelope.parse(entry).payload)


def stored_ahead(store: Store) -> dict[bytes, int]:
    """The envelopes of root versions that were ahead of the log when this node learned them, and its log's size then."""
    found = codec.decode(store.get(AHEAD_KEY) or codec.encode([]), MAX_FRAME)
    ahead: dict[bytes, int] = {}
    for item in found if isinstance(found, list) else ():
        match item:
            case {"root": bytes(root), "since": int(since)}:
                ahead[root] = since
    return ahead


def store_ahead(store: Store, ahead: Mapping[bytes, int]) -> None:
    """Keeps what `stored_ahead` gives, in this order."""
    store.put(AHEAD_KEY, codec.encode([{"root": root, "since": since} for root, since in ahead.items()]))


def _has_flag(*numbers: int) -> bool:
    """Whether one of `numbers` is a boolean, which Python takes for an integer."""
    return any(isinstance(number, bool) for number in numbers)
