"""Upload slots: few chunks leave at a time, so that each leaves soon and can be passed on.

Peers take turns: a free slot goes to the peer with the fewest chunks on their way, then to the one that was served least
lately, then to who asked first. A chunk that is longer on its way than HOLD_S gives its slot back, so a slow reader
keeps nobody waiting; at MOST chunks at once one of those ends, of the peer that has most. Peers whose last chunk took so
long come after the others, but for each FOR_ALL-th slot. Who would wait longer than QUEUE_S is refused.
"""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import trio

from node.peering.call import CallRefused
from node.peering.transport import Timeout, short

SLOTS: Final = 2
HOLD_S: Final = 2.0
MOST: Final = 16
QUEUE_S: Final = 10.0
FOR_ALL: Final = 4
MAX_WAITING: Final = 256
MAX_WAITING_PER_PEER: Final = 4
_REMEMBERED: Final = 1024


@dataclass(eq=False, slots=True)
class Hold:
    """One slot that is held; HOLD_S count from `start` on, and cancelling `scope` ends it."""

    since_s: float | None = None
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

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
        self._slow: OrderedDict[bytes, None] = OrderedDict()

    @asynccontextmanager
    async def slot(self, peer: bytes) -> AsyncIterator[Hold]:
        """A slot for one chunk to `peer` while in the context; raises CallRefused when there are too many before it.

        What is done in the context ends with a Timeout when it takes long and others wait.
        """
        own = sum(waiter.peer == peer for waiter in self._waiting)
        if len(self._waiting) >= MAX_WAITING or own >= MAX_WAITING_PER_PEER:
            raise CallRefused("Too many wait for a chunk here; ask others, or again later.")
        waiter = _Waiter(peer)
        self._waiting.append(waiter)
        try:
            await self._turn_of(waiter)
            with waiter.hold.scope:
                yield waiter.hold
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            if self._running.pop(waiter.hold, None) is not None:
                self._note(waiter)
            self._grant()
        if waiter.hold.scope.cancelled_caught:
            raise Timeout(f"Peer {short(peer)} took a chunk slowly while others waited.")

    async def _turn_of(self, waiter: _Waiter) -> None:
        until = trio.current_time() + QUEUE_S
        self._grant()
        while not waiter.granted.is_set():
            if trio.current_time() >= until:
                raise CallRefused(f"No chunk could leave here within {QUEUE_S:g} s; ask others, or again later.")
            with trio.move_on_after(HOLD_S / 4):
                await waiter.granted.wait()
            self._grant()

    def _note(self, waiter: _Waiter) -> None:
        """Remembers how a peer took its chunk."""
        self._slow.pop(waiter.peer, None)
        if waiter.hold.is_over:
            self._slow[waiter.peer] = None
            if len(self._slow) > _REMEMBERED:
                self._slow.popitem(last=False)

    def _grant(self) -> None:
        while self._waiting and sum(not hold.is_over for hold in self._running) < self._slots:
            if len(self._running) >= MOST:
                self._end_one()
                return
            waiter = self._next()
            self._waiting.remove(waiter)
            self._running[waiter.hold] = waiter.peer
            self._turn += 1
            self._served[waiter.peer] = self._turn
            self._served.move_to_end(waiter.peer)
            if len(self._served) > _REMEMBERED:
                self._served.popitem(last=False)
            waiter.granted.set()

    def _next(self) -> _Waiter:
        """Whose turn it is."""
        on_their_way = Counter(self._running.values())
        late = self._slow.keys() | {peer for hold, peer in self._running.items() if hold.is_over}
        behind = late if (self._turn + 1) % FOR_ALL else frozenset()
        return min(
            self._waiting,
            key=lambda each: (each.peer in behind, on_their_way[each.peer], self._served.get(each.peer, 0)),
        )

    def _end_one(self) -> None:
        """Ends the oldest chunk that took long, of the peer with most of these; its slot is free a moment later."""
        if any(hold.scope.cancel_called for hold in self._running):
            return
        late = [(hold, peer) for hold, peer in self._running.items() if hold.is_over]
        many = Counter(peer for _, peer in late)
        hold, _ = max(late, key=lambda each: many[each[1]])  # the first of equals, which is the oldest
        hold.scope.cancel()
