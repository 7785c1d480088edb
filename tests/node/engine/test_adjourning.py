"""Games that rest: put down, kept, taken up, and the same in the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from native.pool import Done, Job
from node.disk.store import Store
from node.engine.adjourning import AdjourningEngine, name_of
from tests.native.begun import plies_of
from tests.node.engine.jobs import job, played
from tests.sim.inline_engine import InlineEngine

GAMES = 4
DRAINS = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "node.db") as store:
        yield store


def kept(store: Store) -> int:
    """The plies of all games that are kept."""
    return sum(plies_of((store.get(name) or b"")[32:]) for name in store.names("begun/"))


async def test_twenty_drains_and_starts_lose_no_ply(tmp_path: Path, autojump_clock: MockClock) -> None:
    jobs = [job(counter) for counter in range(GAMES)]
    inner, found, drains = InlineEngine(game_s=200.0), dict[int, Done](), 0

    async def life(drain_after_s: float) -> None:
        """A start of the node that plays all games; a drain ends it."""
        with Store(tmp_path / "node.db") as store:
            engine = AdjourningEngine(inner, store)

            async def play(each: Job) -> None:
                done = await engine.play(each)
                if done.is_ok:
                    found[each.id] = done

            async with trio.open_nursery() as nursery:
                nursery.start_soon(engine.run)
                async with trio.open_nursery() as games:
                    for each in jobs:
                        if each.id not in found:
                            games.start_soon(play, each)
                    await trio.sleep(drain_after_s)
                    engine.end()
                nursery.cancel_scope.cancel()
            finished = {name_of(each) for each in jobs if each.id in found}
            rest = sum(plies_of((store.get(n) or b"")[32:]) for n in store.names("begun/") if n not in finished)
            assert inner.searched == rest + sum(done.plies for done in found.values())

    while len(found) < GAMES:
        drains += 1
        await life(4.9 if drains <= DRAINS else 400.0)
    assert drains > DRAINS
    expected = played(jobs)
    assert {number: (done.block, done.digests) for number, done in found.items()} == {
        number: (done.block, done.digests) for number, done in expected.items()
    }
    assert inner.searched == sum(done.plies for done in expected.values())


async def test_play_rests_while_anybody_holds_it(store: Store, autojump_clock: MockClock) -> None:
    inner = InlineEngine(game_s=100.0)
    engine, found = AdjourningEngine(inner, store), list[Done]()
    async with trio.open_nursery() as nursery:

        async def play() -> None:
            found.append(await engine.play(job(1)))

        nursery.start_soon(engine.run)
        nursery.start_soon(play)
        await trio.sleep(20)
        engine.hold("user", "gonode resume")
        await trio.sleep(1)
        searched = inner.searched
        assert 0 < searched == kept(store)
        assert (engine.holds, engine.held_since) == (("gonode resume",), 20.0)
        engine.hold("guest", "mains power")
        engine.release("user")
        await trio.sleep(1000)
        assert (engine.holds, engine.held_since, inner.searched) == (("mains power",), 20.0, searched)
        with trio.move_on_after(5) as waited:
            await engine.compute(len, b"")
        assert waited.cancelled_caught
        await engine.verify_canaries()
        engine.release("guest")
        assert (engine.holds, engine.held_since) == ((), None)
        assert await engine.compute(len, b"ab") == 2
        await trio.sleep(200)
        assert [done.block for done in found] == [played([job(1)])[1].block]
        engine.sweep({bytes(32)})
        assert store.names("begun/") == []
        engine.hold("user", "gonode resume")
        nursery.start_soon(play)
        await trio.sleep(1)
        engine.end()
        await trio.sleep(1)
        assert found[1].is_stopped
        nursery.cancel_scope.cancel()


async def test_a_stop_puts_games_down_before_it_returns(store: Store, autojump_clock: MockClock) -> None:
    inner = InlineEngine(game_s=100.0)
    engine = AdjourningEngine(inner, store)
    async with trio.open_nursery() as nursery:
        for counter in range(3):
            nursery.start_soon(engine.play, job(counter))
        await trio.sleep(20)
        await engine.put_down()
        assert 0 < inner.searched == kept(store)


class Slow(InlineEngine):
    """Takes five seconds to stop."""

    async def stop(self) -> None:
        await super().stop()
        await trio.sleep(5)


async def test_a_rest_that_begins_while_the_last_one_ends(store: Store, autojump_clock: MockClock) -> None:
    inner = Slow(game_s=100.0)
    engine = AdjourningEngine(inner, store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(engine.run)
        nursery.start_soon(engine.play, job(1))
        await trio.sleep(10)
        engine.hold("user", "gonode resume")
        await trio.sleep(1)
        engine.release("user")
        await trio.sleep(1)
        engine.hold("user", "gonode resume")
        await trio.sleep(200)
        assert engine.finished == 0
        assert not inner.finished
        nursery.cancel_scope.cancel()


class Counting(InlineEngine):
    """Says how often it was stopped."""

    stops = 0

    async def stop(self) -> None:
        self.stops += 1
        await super().stop()


async def test_an_engine_that_canaries_started_rests_again(store: Store, autojump_clock: MockClock) -> None:
    inner = Counting()
    engine = AdjourningEngine(inner, store)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(engine.run)
        await engine.verify_canaries()
        await trio.sleep(1)
        assert inner.stops == 0
        engine.hold("user", "gonode resume")
        await trio.sleep(1)
        assert inner.stops == 1
        await engine.verify_canaries()
        await trio.sleep(1)
        assert inner.stops == 2
        nursery.cancel_scope.cancel()


async def test_what_is_kept_is_listed_and_swept(store: Store) -> None:
    engine = AdjourningEngine(InlineEngine(), store)
    other = Job(**{name: getattr(job(2), name) for name in Job.__slots__} | {"game_seed": bytes([9]) * 32})
    for each in (job(1), other):
        store.put(name_of(each), b"")
    assert engine.begun(bytes(32)) == [(1, job(1).game_seed), (2, bytes([9]) * 32)]
    assert engine.begun(bytes([1]) * 32) == []
    engine.sweep({bytes(32)})
    assert len(store.names("begun/")) == 2
    engine.sweep({bytes([1]) * 32})
    assert store.names("begun/") == []
    store.put(name_of(other), b"")
    engine.forget_all()
    assert store.names("begun/") == []


async def test_damaged_bytes_count_for_nothing(store: Store, autojump_clock: MockClock) -> None:
    engine = AdjourningEngine(InlineEngine(), store)
    for value in (b"", b"x", bytes(40)):
        store.put(name_of(job(1)), value)
        assert (await engine.play(job(1))).block == played([job(1)])[1].block
