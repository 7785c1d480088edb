"""Which chunk of a blob is asked of which peer next. No I/O: it is told what peers have and what came.

Spec: docs/spec/swarm.md ("Fetching"). Rarest first, ties at random, each chunk of one peer at a time. A peer that had the
whole blob when it was first looked at is an origin. The only origin among one's peers is asked for what no other peer
has, and chooses itself among that, so that those who fetch at the same time get different chunks of it. What it does not
give because it gave it to others is awaited from them, for a patience that halves each time it runs out.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

import trio

LATE_S: Final = (2.0, 10.0)
"""A chunk that is on its way for so long, 4 times the usual within these bounds, is asked of one more peer."""

PATIENCE_S: Final = (0.25, 3.0)
"""How long fellows are awaited before the only origin is asked for what they have: 4 times a chunk within these bounds."""

GUESS_S: Final = 0.5
"""What a chunk takes, before one came."""

USELESS_S: Final = 5.0
"""A peer of which nothing came for so long gives way to one that was not asked yet."""

MAX_STRIKES: Final = 2
MAX_REFUSALS: Final = 8
_LEFT_FOR_S: Final = 10.0
_MOST_REST_S: Final = 5.0

Pick = int | frozenset[int]
"""The chunk to ask for, or those among which the peer is to choose."""


@dataclass(eq=False, slots=True)
class Source:
    """A peer as one fetch sees it; `holds` is what it said it has."""

    peer: bytes
    since_s: float
    holds: frozenset[int] = frozenset()
    is_looked_at: bool = False
    is_origin: bool = False
    strikes: int = 0
    refusals: int = 0
    rest_until_s: float = 0.0
    choice_at_s: float = 0.0
    left_until_s: float | None = None
    useful_s: float = 0.0
    gave_s: float = 0.0
    patience_s: float = 0.0

    @property
    def is_left(self) -> bool:
        """Whether it failed, and is not asked for a while."""
        return self.left_until_s is not None


@dataclass(eq=False, slots=True)
class Flight:
    """A chunk asked of a peer by its index; cancelling `scope` ends the call."""

    peer: bytes
    since_s: float
    scope: trio.CancelScope


class Picks:
    """The choices of one fetch.

    Its owner keeps up `missing`, the chunks that did not come yet, and `choosing`, how many peers are to choose one now.
    """

    def __init__(self, count: int, missing: set[int], rng: Random) -> None:
        self.missing = missing
        self.sources: dict[bytes, Source] = {}
        self.chunk_s = 0.0
        self.choosing = 0
        self._count = count
        self._rng = rng
        self._flights: dict[int, list[Flight]] = {}

    @property
    def live(self) -> list[Source]:
        """The sources that are asked now."""
        return [source for source in self.sources.values() if not source.is_left]

    @property
    def is_waiting(self) -> bool:
        """Whether a chunk was asked for and did not come yet."""
        return bool(self._flights) or self.choosing > 0

    def admit(self, peers: Iterable[bytes], most: int) -> list[Source]:
        """New sources among `peers`, in order, until there are `most`; then those that were left longest ago.

        When there are `most` already, those that are of no use give way to peers that were not asked yet.
        """
        now = trio.current_time()
        named = list(dict.fromkeys(peers))
        fresh = [peer for peer in named if peer not in self.sources]
        if fresh and len(self.live) >= most:
            self._give_way(len(fresh), most, now)
        rested = {
            peer: known.left_until_s
            for peer in named
            if (known := self.sources.get(peer)) is not None
            and known.left_until_s is not None
            and known.left_until_s <= now
        }
        room = max(most - len(self.live), 0)
        admitted = [*fresh, *sorted(rested, key=lambda peer: rested[peer])][:room]
        for peer in admitted:
            self.sources[peer] = Source(peer, now, useful_s=now, gave_s=now, patience_s=self._within(PATIENCE_S))
        return [self.sources[peer] for peer in admitted]

    def _give_way(self, wanted: int, most: int, now: float) -> None:
        """Leaves up to `wanted` sources of which nothing came, while not too much is on its way for a slow line."""
        useless = sorted((each for each in self.live if each.gave_s <= now - USELESS_S), key=lambda each: each.gave_s)
        room = 2 * most - sum(map(len, self._flights.values()))
        for source in useless[: max(min(wanted, room), 0)]:
            self.leave(source)

    def heard(self, source: Source, holds: frozenset[int]) -> None:
        """Notes what a source has."""
        if not source.is_looked_at:
            source.is_looked_at = True
            source.is_origin = len(holds) == self._count
        source.holds = holds
        source.strikes = 0

    def pick(self, source: Source) -> Pick | None:
        """What to ask of a source now; None for nothing."""
        now = trio.current_time()
        if source.is_left or source.rest_until_s > now:
            return None
        free = frozenset(self.missing - self._flights.keys())
        if source.is_origin and sum(each.is_origin for each in self.live) == 1:
            return self._pick_of_origin(source, free, now)
        return self._rarest(source.holds & free) if source.holds & free else self._late(source, now)

    def came(self, source: Source, index: int, took_s: float) -> None:
        """Notes a chunk that is kept now; other calls for it end."""
        now = trio.current_time()
        self.chunk_s += (took_s - self.chunk_s) / (8 if self.chunk_s else 1)
        source.strikes = source.refusals = 0
        source.gave_s = now
        for flight in self._flights.get(index, ()):
            if flight.peer != source.peer:
                flight.scope.cancel()
        for each in self.live:
            if each is source or not source.is_origin:
                each.useful_s = now
        if not source.is_origin:
            for each in self.live:
                each.patience_s = self._within(PATIENCE_S)

    def chose(self, source: Source) -> None:
        """Notes that a source chose a chunk."""
        source.patience_s = self._within(PATIENCE_S)

    def refused(self, source: Source, pick: Pick) -> None:
        """Notes that a source did not give what it was asked for."""
        now = trio.current_time()
        if isinstance(pick, frozenset):
            source.choice_at_s = now + self._within(PATIENCE_S) / 2
            return
        source.holds -= {pick}
        source.refusals += 1
        source.rest_until_s = now + min(0.125 * 2**source.refusals, _MOST_REST_S)
        if source.refusals >= MAX_REFUSALS:
            self.leave(source)

    def failed(self, source: Source) -> None:
        """Notes a call that failed; the second in a row has the source left for a while."""
        source.strikes += 1
        source.rest_until_s = trio.current_time() + 0.25
        if source.strikes >= MAX_STRIKES:
            self.leave(source)

    def leave(self, source: Source) -> None:
        """Asks a source nothing for a while."""
        source.left_until_s = trio.current_time() + _LEFT_FOR_S

    def begin(self, source: Source, index: int, scope: trio.CancelScope) -> Flight:
        """Notes that a source is asked for a chunk."""
        flight = Flight(source.peer, trio.current_time(), scope)
        self._flights.setdefault(index, []).append(flight)
        return flight

    def end(self, index: int, flight: Flight) -> None:
        """Ends what `begin` began."""
        self._flights[index].remove(flight)
        if not self._flights[index]:
            del self._flights[index]

    def _pick_of_origin(self, source: Source, free: frozenset[int], now: float) -> Pick | None:
        fellows = [each for each in self.live if each is not source]
        fresh = free.difference(*(each.holds for each in fellows))
        if fresh and source.choice_at_s <= now:
            return fresh if len(fresh) > self.choosing else None
        if fellows and now - source.useful_s < source.patience_s:
            return None
        source.useful_s = now
        source.patience_s /= 2
        wanted = (fresh or free) & source.holds
        return self._rarest(wanted) if wanted else self._late(source, now)

    def _rarest(self, wanted: frozenset[int]) -> int:
        holders: Counter[int] = Counter()
        for source in self.live:
            holders.update(wanted & source.holds)
        least = min(holders.values())
        return self._rng.choice(sorted(index for index in wanted if holders[index] == least))

    def _late(self, source: Source, now: float) -> int | None:
        """A chunk that one other peer has been asked for long ago.

        Peers that were left, or gave nothing yet and were asked USELESS_S ago, count for nothing.
        """
        before = now - self._within(LATE_S)

        def counts(flight: Flight) -> bool:
            peer = self.sources[flight.peer]
            return not peer.is_left and (peer.gave_s > peer.since_s or flight.since_s > now - USELESS_S)

        late = [
            index
            for index, flights in self._flights.items()
            if sum(map(counts, flights)) < 2
            and flights[-1].since_s <= before
            and all(flight.peer != source.peer for flight in flights)
            and index in self.missing
            and index in source.holds
        ]
        return min(late, key=lambda index: self._flights[index][0].since_s, default=None)

    def _within(self, bounds: tuple[float, float]) -> float:
        usual_s = self.chunk_s or GUESS_S
        return min(max(4 * usual_s, bounds[0]), bounds[1])
