"""A contributor that behaves: it rests and goes on as the machine is, and drains when its budget is spent."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from native.pool import Done
from node.blobs.work import here
from node.disk.store import Store
from node.engine.adjourning import AdjourningEngine
from node.guest.budget import Budget
from node.guest.guest import LOOK_EVERY_S, Guest
from node.guest.hours import Hours
from node.guest.options import GuestOptions
from node.guest.rest import BY_USER, Rest
from tests.node.engine.jobs import job
from tests.node.guest.settable import Settable
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.world import World

GAME_S = 100.0


class Hosted:
    """A guest on a machine, with one game in flight after the other."""

    def __init__(self, options: GuestOptions, store: Store, machine: Settable) -> None:
        self.machine = machine
        self.member: Any = WorldMember(World(), store)
        self.member.unix_s = lambda since_s: since_s
        self.told: list[tuple[str, str]] = []
        self.member.events = lambda event, text, **values: self.told.append((event, text))
        self.inner = InlineEngine(game_s=2 * GAME_S)  # of which these games take half
        self.engine = AdjourningEngine(self.inner, store)
        self.rest = Rest(self.engine, self.member, bytes(32))
        self.drained_at: list[float] = []
        role: Any = SimpleNamespace(engine=self.engine, rest=self.rest)
        self.guest = Guest(options, self.member, role, machine, here)

    async def drain(self) -> dict[str, Any]:
        """The node's drain."""
        self.drained_at.append(trio.current_time())
        self.engine.end()
        return {"ok": True}

    async def play(self) -> None:
        """One game after the other."""
        counter, done = 0, Done.stopped(0)
        while not self.drained_at:
            done = await self.engine.play(job(counter))
            counter += done.is_ok


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "node.db") as store:
        yield store


@asynccontextmanager
async def hosted(options: GuestOptions, store: Store, machine: Settable | None = None) -> AsyncIterator[Hosted]:
    it = Hosted(options, store, machine or Settable())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(it.engine.run)
        nursery.start_soon(it.guest.run, dict, {"drain": it.drain})
        nursery.start_soon(it.play)
        yield it
        nursery.cancel_scope.cancel()


async def test_it_rests_and_goes_on_as_the_machine_is(store: Store, autojump_clock: MockClock) -> None:
    options = GuestOptions(Hours.parse("22-7"), on_idle=True, max_temp_c=80)
    machine = Settable(now=datetime(2026, 3, 1, 23))
    async with hosted(options, store, machine) as it:
        await trio.sleep(31)
        assert (it.rest.status(), it.told) == (None, [])
        machine.on_battery = True
        await trio.sleep(6)
        searched = it.inner.searched
        assert searched > 0
        assert it.engine.holds == ("mains power (--on-battery yes plays without it)",)
        machine.now, machine.temp_c, machine.on_battery = datetime(2026, 3, 2, 7), 90, False
        await trio.sleep(6)
        assert len(it.engine.holds) == 2
        machine.temp_c = 40
        machine.unused = False
        await trio.sleep(6)
        assert len(it.engine.holds) == 2
        machine.now, machine.unused = datetime(2026, 3, 2, 22), True
        assert it.inner.searched == searched
        await trio.sleep(GAME_S)
        assert it.rest.status() is None
        assert it.engine.finished == 1
        assert [event for event, _ in it.told] == ["paused"] * 4 + ["resumed"]


async def test_a_pause_of_the_user_stays(store: Store, autojump_clock: MockClock) -> None:
    async with hosted(GuestOptions(), store) as it:
        commands = it.rest.commands()
        answer = await commands["pause"]()
        assert answer == {"ok": True, "paused": {"waiting_for": BY_USER, "since_unix_s": 0.0}}
        assert await commands["pause"]() == answer
        it.machine.on_battery = True
        await trio.sleep(6)
        it.machine.on_battery = False
        await trio.sleep(6)
        assert it.engine.holds == (BY_USER,)
        it.machine.on_battery = True
        await trio.sleep(6)
        rests = (await commands["resume"]())["paused"]
        assert rests["waiting_for"] == "mains power (--on-battery yes plays without it)"
        it.machine.on_battery = False
        await trio.sleep(6)
        assert it.rest.status() is None
        assert await commands["resume"]() == {"ok": True, "paused": None}
        assert it.inner.searched == 0
        await trio.sleep(2 * GAME_S)
        assert it.engine.finished


async def test_a_budget_of_games_drains_at_the_game(store: Store, autojump_clock: MockClock) -> None:
    async with hosted(GuestOptions(budget=Budget(games=2)), store) as it:
        await trio.sleep(3 * GAME_S)
        assert (it.engine.finished, it.drained_at) == (2, [2 * GAME_S])
        assert it.told == [("spent", "The budget is spent: 2 games are finished (--games).")]


async def slowly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Readings of hardware that takes its time."""
    await trio.sleep(4)
    return function(*arguments)


async def test_a_budget_does_not_wait_for_readings(store: Store, autojump_clock: MockClock) -> None:
    async with hosted(GuestOptions(budget=Budget(games=2)), store) as it:
        it.guest._work = slowly
        await trio.sleep(3 * GAME_S)
        assert it.drained_at == [2 * GAME_S]


async def test_finished_games_ask_no_rules(store: Store, autojump_clock: MockClock) -> None:
    machine, asked = Settable(), list[float]()
    machine.is_unused = lambda: asked.append(trio.current_time()) is None  # type: ignore[method-assign]
    async with hosted(GuestOptions(on_idle=True), store, machine) as it:
        it.inner._game_s = 0.2
        await trio.sleep(20)
        assert it.engine.finished > 50
        assert len(asked) <= 1 + 1 + 20 // LOOK_EVERY_S


async def test_a_budget_of_minutes_drains_at_the_second(store: Store, autojump_clock: MockClock) -> None:
    async with hosted(GuestOptions(budget=Budget(minutes=1.2)), store) as it:
        await trio.sleep(3 * GAME_S)
        assert it.drained_at == [72.0]
        assert it.inner.searched > 0
        assert it.engine.finished == 0


async def test_what_cannot_be_read_is_said_once(store: Store, autojump_clock: MockClock) -> None:
    options = GuestOptions(max_temp_c=80)
    async with hosted(options, store, Settable(temp_c=None)) as it:
        await trio.sleep(100)
        assert it.told == [("no-reading", "This machine tells no temperature, so --max-temp changes nothing.")]
