"""Serves the log to peers from this node's own copy: `/gonode/log/1`.

Spec: docs/spec/wire.md ("Log"). Calls answer with the newest head and the newest one that enough witnesses cosigned; with
entries from an index on and the proof that the tree up to them is a prefix of a head's; the root that a smaller tree had.
All are bounded, and calls for entries in number: in all, and for each peer, so that no few peers keep the others out.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from node.disk.store import Store
from node.peering.call import CallRefused, Malformed, serve_calls
from node.peering.pace import SharedPace
from node.peering.transport import Transport
from protocol import codec
from protocol.checkpoint import SignedNote
from protocol.entries import Entry
from protocol.merkle import Tree
from protocol.root import Root
from verification.witness import WITNESS_PREFIX

LOG_PROTOCOL: Final = "/gonode/log/1"
MAX_ENTRIES: Final = 4096
MAX_ENTRY_BYTES_TOGETHER: Final = 1 << 20

ENTRIES_PER_S: Final = 40.0
"""Calls for entries that are answered a second; ENTRIES_BURST of them at once."""

ENTRIES_BURST: Final = 80.0

PEER_ENTRIES_PER_S: Final = 4.0
"""The same of one peer: a verifier needs one for each head."""

PEER_ENTRIES_BURST: Final = 16.0

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

    def apply(self, entry: bytes) -> Entry:
        """Applies the next entry; raises LogFault or ProtocolError without change."""


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
        raise Malformed("This is not a request for a log's head, entries or prefix.")

    def _head(self) -> dict[str, codec.Value]:
        head = self._store.newest_head(self._replica.size)
        if head is None:
            raise CallRefused("There is no signed head here yet.")
        return {"checkpoint": head.note, "cosigned": self._cosigned(), "size": head.size}

    def _cosigned(self) -> bytes:
        """The note of the newest head that enough witnesses cosigned; empty without one."""
        for head in self._store.heads_with(WITNESS_PREFIX.encode(), _LOOK_AT, self._replica.size):
            if len(SignedNote.parse(head.note).signatures) > self._replica.root.witness_threshold:
                return head.note
        return b""

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


def _has_flag(*numbers: int) -> bool:
    """Whether one of `numbers` is a boolean, which Python takes for an integer."""
    return any(isinstance(number, bool) for number in numbers)
