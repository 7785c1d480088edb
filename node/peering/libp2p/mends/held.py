"""What the connections of this process hold in memory for their peers, bounded in all.

Spec: docs/spec/swarm.md ("Hardening"). Each connection has its bounds, but many at their bounds are more than a machine
has. So what was sent and not read yet, requests that are being answered, and frames that wait for a reader are counted; over
MOST_HELD the connection ends that holds most, of the address that holds most.
"""

import ctypes
import sys
from collections import Counter
from typing import Final, Protocol

MOST_HELD: Final = 40 << 20
"""The most bytes that all connections hold, but for LOOK_EVERY more between two looks."""

LOOK_EVERY: Final = 1 << 20


_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGE: Final = 128 << 10


class Holder(Protocol):
    """A connection."""

    @property
    def place(self) -> str:
        """What counts as one address."""

    @property
    def held_bytes(self) -> int:
        """The bytes held for its peer now."""

    def end(self) -> None:
        """Ends it soon."""


class Held:
    """The connections that live, and a look at what they hold when much came."""

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most = most
        self._holders: set[Holder] = set()
        self._came = 0

    def add(self, holder: Holder) -> None:
        """Counts a connection from now on."""
        self._holders.add(holder)

    def remove(self, holder: Holder) -> None:
        """Counts a connection no longer."""
        self._holders.discard(holder)

    def grow(self, size: int) -> None:
        """Notes bytes that are held now; ends connections when all hold too much."""
        self._came += size
        if self._came >= LOOK_EVERY:
            self._came = 0
            self._look()

    def _look(self) -> None:
        sizes = {holder: holder.held_bytes for holder in self._holders}
        while sum(sizes.values()) > self._most:
            places: Counter[str] = Counter()
            for holder, size in sizes.items():
                places[holder.place] += size
            worst = max(sizes, key=lambda holder: (places[holder.place], sizes[holder]))
            del sizes[worst]
            self._holders.discard(worst)
            worst.end()


held: Final = Held()
"""Of this process: all its hosts share its memory."""


def return_memory() -> None:
    """Has large pieces of memory go back to the system when they are freed; after a flood, glibc would keep most of them."""
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(_M_MMAP_THRESHOLD, _LARGE)
            set_option(_M_TRIM_THRESHOLD, 2 * _LARGE)
