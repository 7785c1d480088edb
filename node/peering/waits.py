"""What this node awaits from which peer, and since when, on the clock that nobody sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """Something awaited: `what` as the end of "waiting for", `since_s` on trio's clock."""

    what: str
    since_s: float


class Waits:
    """One transport's calls in flight, by peer."""

    def __init__(self) -> None:
        self._waits: dict[bytes, list[Wait]] = {}

    @contextmanager
    def waiting(self, peer: bytes, what: str) -> Iterator[None]:
        """Something is awaited from `peer` while the block runs."""
        wait = Wait(what, trio.current_time())
        self._waits.setdefault(peer, []).append(wait)
        try:
            yield
        finally:
            waits = self._waits[peer]
            waits.remove(wait)
            if not waits:
                del self._waits[peer]

    def oldest(self, peer: bytes) -> Wait | None:
        """What has been awaited longest from `peer`; None when nothing is."""
        waits = self._waits.get(peer)
        return waits[0] if waits else None
