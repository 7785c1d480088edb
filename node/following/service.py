"""Serves the log to peers from this node's own copy: `/gonode/log/1`.

Spec: docs/spec/wire.md ("Log"). Calls answer with the newest head and the newest one that enough witnesses cosigned; with
entries from an index on and the proof that the tree up to them is a prefix of a head's; the root that a smaller tree had;
the root versions that follow one. All are bounded, and calls for entries in number: in all, and for each peer, so that no
few peers keep the others out.
"""

from collections.abc import Sequence
from typing import Final

from node.disk.cosigned import newest_cosigned
from node.disk.store import Store
from node.following.ahead import stored_ahead
from node.following.replica import Replica
from node.peering.call import CallRefused, Malformed, serve_calls
from node.peering.pace import SharedPace
from node.peering.transport import Transport
from protocol import codec
from protocol.envelope import Envelope
from protocol.root import Root

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

_LOOK_AT: Final = 64


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
        """The note of the newest head that enough witnesses cosigned; empty without one. What the store has was verified."""
        head = newest_cosigned(self._store, self._replica, most_heads=_LOOK_AT, is_verified=True)
        return b"" if head is None else head.note

    def _roots(self, version: int) -> list[bytes]:
        """Envelopes of root versions after `version`: the logged ones, and those that this node learned ahead of its log."""
        logged = self._replica.roots
        wanted = logged.all[max(version, 0) : max(version, 0) + MAX_ROOTS]
        found = [entry for index, _ in wanted if (entry := self._store.entry(index)) is not None]
        after = max(version, logged.newest.version)  # others of a number that is logged help nobody
        ahead = [data for data in stored_ahead(self._store) if _version_in(data) > after]
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


def _version_in(root: bytes) -> int:
    """The number of the root version in an envelope; its signatures are known to hold."""
    return Root.parse(Envelope.parse(root).payload).version


def _has_flag(*numbers: int) -> bool:
    """Whether one of `numbers` is a boolean, which Python takes for an integer."""
    return any(isinstance(number, bool) for number in numbers)
