"""The shared pause: one task tries at a time, pauses grow to their limit, and an answer or a connection ends them."""

from random import Random

import pytest
import trio
import trio.testing

from node.peering.backoff import FIRST_S, LAST_S, Backoff
from node.peering.call import CallRefused
from node.peering.transport import Unreachable


class Place:
    """A destination that is there or not, and the tries to reach it."""

    def __init__(self) -> None:
        self.is_connected = True
        self.answers = False
        self.tried_s: list[float] = []
        self.backoff = Backoff(lambda: self.is_connected, Random(1))

    async def call(self, takes_s: float = 0.1) -> None:
        with self.backoff.attempt():
            self.tried_s.append(trio.current_time())
            await trio.sleep(takes_s)
            if not self.answers:
                raise Unreachable("Nobody is there.")

    async def call_until_it_works(self) -> None:
        while True:
            try:
                await self.call()
                return
            except Unreachable:
                await self.backoff.until_ready()


async def test_pauses_grow_up_to_their_limit(autojump_clock: trio.testing.MockClock) -> None:
    place = Place()
    with trio.move_on_after(3600):
        await place.call_until_it_works()
    pauses = [after - before for before, after in zip(place.tried_s, place.tried_s[1:], strict=False)]
    assert 0.75 * FIRST_S <= pauses[0] <= 1.25 * FIRST_S + 0.2
    assert max(pauses) <= LAST_S + 0.2
    assert pauses[-1] >= 0.75 * LAST_S
    assert len(pauses) < 25


async def test_many_tasks_are_no_more_tries_than_one(autojump_clock: trio.testing.MockClock) -> None:
    alone, many = Place(), Place()
    with trio.move_on_after(3600):
        await alone.call_until_it_works()
    with trio.move_on_after(3600):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(many.call_until_it_works)
    first = sum(at < many.tried_s[0] + 0.01 for at in many.tried_s)
    assert first == 20, "before anything failed all may try"
    assert len(many.tried_s) - first <= len(alone.tried_s) + 3


async def test_when_one_try_works_all_go_on(autojump_clock: trio.testing.MockClock) -> None:
    place = Place()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(place.call_until_it_works)
        await trio.sleep(100)
        assert place.backoff.waiting_for == "Nobody is there."
        assert place.backoff.since_s is not None
        assert place.backoff.since_s < trio.current_time() - 99
        place.answers = True
        tried = len(place.tried_s)
    assert len(place.tried_s) == tried + 5
    assert max(place.tried_s) - place.tried_s[tried] < 1
    assert (place.backoff.waiting_for, place.backoff.since_s, place.backoff.failures) == ("", None, 0)


async def test_a_connection_that_comes_back_ends_the_pause(autojump_clock: trio.testing.MockClock) -> None:
    place = Place()
    place.is_connected = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(place.call_until_it_works)
        await trio.sleep(2000)
        place.answers = place.is_connected = True
        began = trio.current_time()
    assert trio.current_time() - began <= 1


async def test_a_try_before_its_time_fails_at_once(autojump_clock: trio.testing.MockClock) -> None:
    place = Place()
    for _ in range(2):
        with pytest.raises(Unreachable, match="Nobody is there"):
            await place.call()
    assert len(place.tried_s) == 1
    assert 0 < place.backoff.next_try_in_s <= 1.25


async def test_a_refusal_is_an_answer(autojump_clock: trio.testing.MockClock) -> None:
    place = Place()
    with pytest.raises(Unreachable):
        await place.call()
    await place.backoff.until_ready()
    with pytest.raises(CallRefused), place.backoff.attempt():
        raise CallRefused("No.")
    assert place.backoff.failures == 0


async def test_a_probe_that_is_cancelled_lets_the_next_one_try(autojump_clock: trio.testing.MockClock) -> None:
    place = Place()
    with pytest.raises(Unreachable):
        await place.call()
    await place.backoff.until_ready()
    with trio.move_on_after(1):
        await place.call(takes_s=60)
    assert place.backoff.is_ready
