"""Asks one peer for its log: heads, entries, and what tree its log had at a smaller size.

Spec: docs/spec/wire.md ("Log"). Only the form of an answer is checked here; whether it holds is for the caller to see.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from node.following.service import LOG_PROTOCOL, MAX_ROOTS
from node.peering.call import call
from node.peering.transport import MAX_FRAME, Transport
from protocol import codec
from protocol.errors import ParseError

HEAD_S: Final = 5.0
ENTRIES_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class ShownHeads:
    """What a peer showed: the note of its newest head and the size that it says it has; the newest cosigned note or none."""

    note: bytes
    size: int
    cosigned: bytes


class LogClient:
    """Calls of the log's protocol; each raises CallRefused, TransportError, or ParseError for an answer that is none."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def heads(self, peer: bytes) -> ShownHeads:
        """The notes of the peer's newest head and of its newest cosigned one."""
        match await self._call(peer, {"op": "head"}, HEAD_S):
            case {"checkpoint": bytes(note), "cosigned": bytes(cosigned), "size": int(size), **rest} if not rest:
                return ShownHeads(note, size, cosigned)
        raise ParseError("The answer is not a log's head.")

    async def entries(
        self, peer: bytes, start: int, limit: int, size: int, timeout_s: float = ENTRIES_S
    ) -> tuple[list[bytes], list[bytes]]:
        """At most `limit` entries from `start` on, and the proof from the tree that ends with them to that of `size`."""
        request: dict[str, codec.Value] = {"limit": limit, "op": "entries", "size": size, "start": start}
        match await self._call(peer, request, timeout_s):
            case {"entries": list(entries), "proof": list(proof), **rest} if not rest and len(entries) <= limit:
                return _all_bytes(entries), _all_bytes(proof)
        raise ParseError("The answer is not a run of log entries.")

    async def prefix(self, peer: bytes, old: int, new: int) -> tuple[bytes, list[bytes]]:
        """The root that the peer's log had at size `old`, and the proof from there to its tree of size `new`."""
        match await self._call(peer, {"new": new, "old": old, "op": "prefix"}, HEAD_S):
            case {"proof": list(items), "root": bytes(root), **rest} if not rest:
                return root, _all_bytes(items)
        raise ParseError("The answer is not a root and its proof.")

    async def roots(self, peer: bytes, version: int) -> list[bytes]:
        """Envelopes of root versions after `version`, oldest first, as far as the peer gives them."""
        match await self._call(peer, {"op": "roots", "version": version}, HEAD_S):
            case {"roots": list(roots), **rest} if not rest and len(roots) <= MAX_ROOTS:
                return _all_bytes(roots)
        raise ParseError("The answer is not a list of root versions.")

    async def _call(self, peer: bytes, request: codec.Value, timeout_s: float) -> codec.Value:
        answer = await call(self._transport, peer, LOG_PROTOCOL, codec.encode(request), timeout_s=timeout_s)
        return codec.decode(answer, MAX_FRAME)


def _all_bytes(items: Sequence[codec.Value]) -> list[bytes]:
    """`items`, all of which must be bytes."""
    found = [item for item in items if isinstance(item, bytes)]
    if len(found) != len(items):
        raise ParseError("The answer holds something other than bytes.")
    return found
