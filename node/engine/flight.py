"""What a node has asked of its engine and waits for, over as many lives of the engine as it takes."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from native.network import Network
from native.pipe import Answer, AskCanary, CanaryAnswer, Failed, Finished, Order


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
        """The next order to send, waited for."""
        while True:
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

    def send_again(self) -> None:
        """A new life of the engine: whatever is not answered is to be sent."""
        self._unsent = deque(number for number, flight in self._flights.items() if not flight.answered.is_set())
