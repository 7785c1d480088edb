"""What a node has asked of its engine and waits for, over as many lives of the engine as it takes."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from native.network import Network
from native.pipe import Answer, AskCanary, CanaryAnswer, Failed, Finished, Order, Play, Replay, Stop
from native.pool import Done


@dataclass(eq=False, slots=True)
class Flight:
    """One order under way, and the networks that the engine needs for it."""

    order: Order
    networks: tuple[Network, ...]
    answered: trio.Event = field(default_factory=trio.Event)
    answer: Answer | None = None


class Flights:
    """Orders by number, those not yet sent in this life of the engine in their order."""

    def __init__(self) -> None:
        self._flights: dict[int, Flight] = {}
        self._unsent: deque[int] = deque()
        self._added = trio.Event()
        self._last = 0
        self._is_stopping = False

    async def ask(self, order_of: Callable[[int], Order], networks: tuple[Network, ...] = ()) -> Answer:
        """The engine's answer to the order that `order_of` makes for a number of its own."""
        self._last += 1
        number = self._last
        flight = self._flights[number] = Flight(order_of(number), networks)
        self._unsent.append(number)
        self._added.set()
        try:
            await flight.answered.wait()
        finally:
            del self._flights[number]
        assert flight.answer is not None
        return flight.answer

    async def next(self) -> Flight:
        """The next order to send, waited for; a stop comes before all others."""
        while True:
            if self._is_stopping:
                return Flight(Stop(), ())
            while self._unsent:
                flight = self._flights.get(self._unsent.popleft())
                if flight is not None:
                    return flight
            self._added = trio.Event()
            await self._added.wait()

    def land(self, number: int, answer: Finished | Failed | CanaryAnswer) -> None:
        """Gives an answer to who waits for it. An answer that nobody waits for is late, and dropped."""
        flight = self._flights.get(number)
        fits = flight is not None and isinstance(flight.order, AskCanary) == isinstance(answer, CanaryAnswer)
        if flight is not None and fits:
            flight.answer = answer
            flight.answered.set()

    @property
    def games(self) -> int:
        """How many games are under way, played or replayed."""
        return sum(isinstance(flight.order, Play | Replay) for flight in self._flights.values())

    @property
    def is_asked(self) -> bool:
        """Whether something waits for an answer."""
        return any(not flight.answered.is_set() for flight in self._flights.values())

    async def until_asked(self) -> None:
        """Returns once something waits for an answer."""
        while not self.is_asked:
            self._added = trio.Event()
            await self._added.wait()

    def begin_stop(self) -> None:
        """Has `next` say stop, and nothing else until `end_stop`, also in a life of the engine that begins before it."""
        self._is_stopping = True
        self._added.set()

    def end_stop(self) -> None:
        """The stop is done: games that were not answered come back with nothing, and `next` says what is asked."""
        self._is_stopping = False
        self.stop_games()

    def stop_games(self) -> None:
        """Every game that is not answered comes back as stopped, with nothing."""
        for number, flight in self._flights.items():
            if isinstance(flight.order, Play | Replay) and not flight.answered.is_set():
                self.land(number, Finished(Done.stopped(number)))

    def send_again(self) -> None:
        """A new life of the engine: whatever is not answered is to be sent."""
        self._unsent = deque(number for number, flight in self._flights.items() if not flight.answered.is_set())
