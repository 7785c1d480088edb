"""Bounds what one peer's gossip costs: its bytes are read no faster than its pace, its publications are counted.

Spec: docs/spec/swarm.md ("Hardening"). py-libp2p reads as fast as a peer sends and starts a task for each publication, 8,000
for one message of small ones. Here reading waits, so that the sender runs out of window, and what is over the pace is
dropped before anything is done for it.
"""

from contextvars import ContextVar
from typing import Any, Final

import trio

from node.peering.libp2p.quota import Quota

_reading: Final[ContextVar[str]] = ContextVar("reading", default="")
"""The peer whose gossip the current task reads."""


class PacedStream:
    """A stream of the library's whose reads wait for the pace of its peer."""

    def __init__(self, stream: Any, peer: str, quota: Quota) -> None:
        self._stream = stream
        self._peer = peer
        self._quota = quota

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def read(self, n: int | None = None) -> bytes:
        """Reads as the stream does, then waits."""
        data: bytes = await self._stream.read(n)
        await trio.sleep(self._quota.gossip_wait_s(self._peer, len(data)))
        return data


def bound_gossip(pubsub: Any, quota: Quota) -> None:
    """Has a Pubsub that does not run yet keep to `quota`."""
    read_all = pubsub.continuously_read_stream
    is_subscribed = pubsub._is_subscribed_to_msg

    async def read_paced(stream: Any) -> None:
        peer = str(stream.muxed_conn.peer_id)
        _reading.set(peer)
        await read_all(PacedStream(stream, peer, quota))

    def is_wanted(message: Any) -> bool:
        return is_subscribed(message) and quota.passes_publication(_reading.get())

    pubsub.continuously_read_stream = read_paced
    pubsub._is_subscribed_to_msg = is_wanted
