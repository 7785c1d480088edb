"""What a node gave to whom, so that it gives each chunk to one of those who fetch a blob before it gives one twice.

Those who fetch at the same time then have all chunks between them after one copy, and pass them on to each other.
"""

from collections import OrderedDict
from collections.abc import Iterable
from random import Random
from typing import Final

import trio

FRESH_S: Final = 30.0
"""How long a chunk that went to a peer counts as one that others can have from that peer."""

OWN_S: Final = 3.0
"""How long a chunk that left counts as on its way to the peer that asked for it."""

_BLOBS: Final = 64


class Given:
    """The chunks that left lately, of the blobs that were asked for last."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._blobs: OrderedDict[bytes, dict[int, dict[bytes, float]]] = OrderedDict()

    def choose(self, digest: bytes, wants: Iterable[int], peer: bytes, connected: Iterable[bytes]) -> int | None:
        """One of the chunks in `wants` for `peer` that no other connected peer was given lately; None if there is none.

        What `peer` itself was given does not count for long: if it asks again, it lost it.
        """
        chunks = self._blobs.get(digest, {})
        others = set(connected) - {peer}
        now = trio.current_time()

        def is_elsewhere(index: int) -> bool:
            return any(
                when > now - (OWN_S if key == peer else FRESH_S) and (key == peer or key in others)
                for key, when in chunks.get(index, {}).items()
            )

        fresh = [index for index in wants if not is_elsewhere(index)]
        return self._rng.choice(fresh) if fresh else None

    def begin(self, digest: bytes, index: int, peer: bytes) -> None:
        """Notes that a chunk is on its way."""
        self._of(digest).setdefault(index, {})[peer] = float("inf")

    def end(self, digest: bytes, index: int, peer: bytes, is_sent: bool) -> None:
        """Notes that a chunk has left, or has not."""
        to = self._of(digest).setdefault(index, {})
        to.pop(peer, None)
        if is_sent:
            to[peer] = trio.current_time()
            since = trio.current_time() - FRESH_S
            for key in [key for key, when in to.items() if when <= since]:
                del to[key]

    def _of(self, digest: bytes) -> dict[int, dict[bytes, float]]:
        chunks = self._blobs.setdefault(digest, {})
        self._blobs.move_to_end(digest)
        if len(self._blobs) > _BLOBS:
            self._blobs.popitem(last=False)
        return chunks
