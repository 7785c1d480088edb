"""Upload slots: few chunks leave at a time, so that each leaves soon and can be passed on.

Peers take turns: a free slot goes to the peer with the fewest chunks on their way, then to the one that was served least
lately, then to who asked first. A chunk that is longer on its way than HOLD_S gives its slot back, so a slow reader
keeps nobody waiting; MOST chunks at once is the end of that. Who would wait longer than QUEUE_S is refused.
"""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import trio

from node.peering.call import CallRefused

SLOTS: Final = 2
HOLD_S: Final = 2.0
MOST: Final = 16
QUEUE_S: Final = 10.0
MAX_WAITING: Final = 256
MAX_WAITING_PER_PEER: Final = 4
_REMEMBERED: Final = 1024


@dataclass(eq=False, slots=True)
class Hold:
    """One slot that is held; HOLD_S count from `start` on."""

    since_s: float | None = None

    def start(self) -> None:
        """Notes that the chunk leaves now."""
        self.since_s = trio.current_time()

    @property
    def is_over(self) -> bool:
        """Whether somebody else may have the slot."""
        return self.since_s is not None and self.since_s + HOLD_S <= trio.current_time()


@dataclass(eq=False, slots=True)
class _Waiter:
    peer: bytes
    hold: Hold = field(default_factory=Hold)
    granted: trio.Event = field(default_factory=trio.Event)


class Slots:
    """The upload slots of a node."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._waiting: list[_Waiter] = []
        self._running: dict[Hold, bytes] = {}
        self._turn = 0
        self._served: OrderedDict[bytes, int] = OrderedDict()

    @asynccontextmanager
    async def slot(self, peer: bytes) -> AsyncIterator[Hold]:
        """A slot for one chunk to `peer` while in the context; raises CallRefused when there are too many before it."""
        own = sum(waiter.peer == peer for waiter in self._waiting)
        if len(self._waiting) >= MAX_WAITING or own >= MAX_WAITING_PER_PEER:
            raise CallRefused("Too many wait for a chunk here; ask others, or again later.")
        waiter = _Waiter(peer)
        self._waiting.append(waiter)
        try:
            await self._turn_of(waiter)
            yield waiter.hold
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            self._running.pop(waiter.hold, None)
            self._grant()

    async def _turn_of(self, waiter: _Waiter) -> None:
        until = trio.current_time() + QUEUE_S
        self._grant()
        while not waiter.granted.is_set():
            if trio.current_time() >= until:
                raise CallRefused(f"No chunk could leave here within {QUEUE_S:g} s; ask others, or again later.")
            with trio.move_on_after(HOLD_S / 4):
                await waiter.granted.wait()
            self._grant()

    def _grant(self) -> None:
        while (
            self._waiting
            and len(self._running) < MOST
            and sum(not hold.is_over for hold in self._running) < self._slots
        ):
            on_their_way = Counter(self._running.values())
            waiter = min(self._waiting, key=lambda each: (on_their_way[each.peer], self._served.get(each.peer, 0)))
            self._waiting.remove(waiter)
            self._running[waiter.hold] = waiter.peer
            self._turn += 1
            self._served[waiter.peer] = self._turn
            self._served.move_to_end(waiter.peer)
            if len(self._served) > _REMEMBERED:
                self._served.popitem(last=False)
            waiter.granted.set()
