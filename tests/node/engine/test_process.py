"""The engine's process: the same games as in this process, whatever happens to it."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trio
import trio.testing

from native.canary import WrongMachine
from native.errors import EngineError
from native.network import Kernel
from native.pool import Done, Job
from node.engine import process
from node.engine.process import EngineLost, EngineProcess, EngineRefused, open_engine
from node.engine.settings import CUDA, CUDA_GAMES, EngineSettings, engine_settings
from node.events import Field
from node.machine import Machine, store_machine
from node.machine.processor import usable_cores
from node.status import EngineState
from tests.e2e.process import is_alive
from tests.node.engine.jobs import job, network, played

WRONG = [sys.executable, "-m", "tests.node.engine.wrong_serve"]
TO_KILL = [sys.executable, "-m", "tests.node.engine.node_to_kill"]
WITHIN_S = 60


@dataclass
class Told:
    """Events as they were told."""

    events: list[tuple[str, str, dict[str, Field]]] = field(default_factory=list)

    def __call__(self, event: str, text: str, **values: Field) -> None:
        self.events.append((event, text, values))


def settings(threads: int = 1, games: int = 1) -> EngineSettings:
    return EngineSettings(Kernel.best(), threads, games)


@asynccontextmanager
async def engine_of(
    folder: Path, command: list[str] | None = None, told: Told | None = None, threads: int = 1, games: int = 1
) -> AsyncIterator[EngineProcess]:
    with trio.fail_after(WITHIN_S):
        async with open_engine(settings(threads, games), told or Told(), folder / "fault", command) as engine:
            yield engine


async def play_all(engine: EngineProcess, jobs: list[Job]) -> dict[int, Done]:
    found: dict[int, Done] = {}

    async def play(each: Job) -> None:
        found[each.id] = await engine.play(each)

    async with trio.open_nursery() as nursery:
        for each in jobs:
            nursery.start_soon(play, each)
    return found


def only(group: BaseException) -> BaseException:
    """The one error inside groups."""
    while isinstance(group, BaseExceptionGroup):
        (group,) = group.exceptions
    return group


async def ended(pid: int) -> None:
    with trio.fail_after(20):
        while is_alive(pid):
            await trio.sleep(0.02)


async def test_the_same_games_as_in_this_process(tmp_path: Path) -> None:
    nets = [network(number) for number in range(7)]
    jobs = [job(at, nets[at % 7], nets[(at * 3) % 7]) for at in range(20)] + [job(50), job(51)]
    expected = played(jobs, Kernel.SCALAR)
    async with engine_of(tmp_path, threads=2, games=3) as engine:
        assert await play_all(engine, jobs) == expected
        block = expected[3].block
        assert (await engine.replay(jobs[3], block)).is_ok
        mismatch = await engine.replay(jobs[4], block)
        assert (mismatch.id, mismatch.is_mismatch) == (jobs[4].id, True)
        assert (await engine.replay(jobs[4], b"no block")).is_mismatch
        await engine.verify_canaries()
        assert engine.status() == EngineState(
            device="cpu",
            kernel=Kernel.best().encode(),
            threads=2,
            games=3,
            restarts=0,
            canaries=2,
            under_way=0,
        )
        pid = engine.pid
        assert is_alive(pid)
    await ended(pid)


async def test_a_killed_engine_loses_no_game(tmp_path: Path) -> None:
    net = network(1)
    jobs = [job(at, net) for at in range(60)]
    told = Told()
    async with engine_of(tmp_path, told=told, threads=2) as engine:
        found: dict[int, Done] = {}
        async with trio.open_nursery() as nursery:

            async def play() -> None:
                found.update(await play_all(engine, jobs))

            nursery.start_soon(play)
            for _ in range(2):
                await trio.sleep(0.05)
                pid = engine.pid
                os.kill(pid, signal.SIGKILL)
                await engine.verify_canaries()  # also of an engine that had played all games
                assert engine.pid != pid
        assert found == played(jobs)
        assert engine.restarts == 2
    assert [(event, values) for event, _, values in told.events] == [("engine", {"restarts": n}) for n in (1, 2)]
    assert "was ended by signal 9" in told.events[0][1]


async def test_an_engine_that_hangs_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("CANARY_EVERY_S", 0.1), ("CANARY_WITHIN_S", 5), ("END_WITHIN_S", 0.1)):
        monkeypatch.setattr(process, name, seconds)
    told = Told()
    async with engine_of(tmp_path, told=told) as engine:
        os.kill(engine.pid, signal.SIGSTOP)
        assert (await engine.play(job(2))).block == played([job(2)])[2].block
        assert engine.restarts >= 1
    assert "did not answer within 5 s" in told.events[0][1]


async def test_who_gives_up_waiting_loses_only_that(tmp_path: Path) -> None:
    async with engine_of(tmp_path) as engine:
        with trio.move_on_after(0.01):
            await engine.play(job(1, network(1), cap=140))
        assert (await engine.play(job(2))).block == played([job(2)])[2].block


async def test_stopped_games_are_played_on_in_the_next_process(tmp_path: Path) -> None:
    net = network(1)
    jobs = [job(at, net, cap=60) for at in range(3)]
    jobs = [replace(each, config=replace(each.config, visits_full=200, visits_fast=200)) for each in jobs]
    told, begun, lives = Told(), {each.id: b"" for each in jobs}, 0
    async with engine_of(tmp_path, told=told, threads=2) as engine:
        found: dict[int, Done] = {}
        pids = {engine.pid}

        async def play(each: Job) -> None:
            done = await engine.play_on(each, begun[each.id]) if begun[each.id] else await engine.play(each)
            assert len(done.begun) >= len(begun[each.id]) or done.is_ok or not done.plies
            if done.is_ok:
                found[each.id] = done
            begun[each.id] = done.begun or begun[each.id]

        while len(found) < len(jobs):
            async with trio.open_nursery() as nursery:
                for each in jobs:
                    if each.id not in found:
                        nursery.start_soon(play, each)
                await trio.sleep(0.1)
                if lives < 3:
                    lives += 1
                    await engine.verify_canaries()
                    await engine.stop()
            pids.add(engine.pid)
        assert any(begun.values())
        assert found.keys() == {each.id for each in jobs}
        for each in jobs:
            expected = played([each])[each.id]
            assert (found[each.id].block, found[each.id].digests) == (expected.block, expected.digests)
        assert engine.restarts == 0
        await engine.stop()
        await engine.stop()
        await engine.verify_canaries()
        assert (await engine.play_on(jobs[0], b"no game")).block == found[0].block
    assert len(pids) > 2
    assert [text for _, text, _ in told.events] == ["What was kept of game 0 is damaged; it is played from its start."]


async def test_plies_of_a_machine_that_computes_wrongly_when_it_stops(tmp_path: Path) -> None:
    """They come back to nobody."""
    endless = job(1, network(1), cap=140)
    endless = replace(endless, config=replace(endless.config, visits_full=400, visits_fast=400))
    found: list[Done] = []

    async def stopped() -> None:
        async with engine_of(tmp_path, [*WRONG, "1"]) as engine, trio.open_nursery() as nursery:

            async def play() -> None:
                with trio.CancelScope(shield=True):
                    found.append(await engine.play(endless))

            nursery.start_soon(play)
            await trio.sleep(0.3)
            await engine.stop()

    with pytest.raises(BaseExceptionGroup) as caught:
        await stopped()
    assert isinstance(only(caught.value), WrongMachine)
    assert (tmp_path / "fault").exists()
    assert [(done.is_stopped, done.begun) for done in found] == [(True, b"")]


async def test_an_engine_that_does_not_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended, and its games come back with nothing."""
    for name, seconds in (("STOP_WITHIN_S", 0.3), ("END_WITHIN_S", 0.1)):
        monkeypatch.setattr(process, name, seconds)
    async with engine_of(tmp_path) as engine, trio.open_nursery() as nursery:
        found: list[Done] = []

        async def play() -> None:
            found.append(await engine.play(job(1)))

        os.kill(engine.pid, signal.SIGSTOP)
        nursery.start_soon(play)
        await trio.sleep(0.1)
        await engine.stop()
        await trio.testing.wait_all_tasks_blocked()
        assert [(done.id, done.is_stopped, done.begun) for done in found] == [(1, True, b"")]
        assert (await engine.play(job(2))).is_ok
        assert engine.restarts == 0


async def test_a_stop_between_two_lives_starts_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "FIRST_WAIT_S", 0.3)
    told, found = Told(), list[Done]()
    async with engine_of(tmp_path, told=told) as engine, trio.open_nursery() as nursery:

        async def play() -> None:
            found.append(await engine.play(replace(job(1), config=replace(job(1).config, visits_full=60_000))))

        pid = engine.pid
        nursery.start_soon(play)
        os.kill(pid, signal.SIGKILL)
        while not told.events:
            await trio.sleep(0.01)
        await engine.stop()
        await trio.sleep(1)
        assert [done.is_stopped for done in found] == [True]
        assert engine.pid == pid
        await engine.verify_canaries()
        assert engine.pid != pid


async def test_a_job_that_the_engine_refuses(tmp_path: Path) -> None:
    net = network(1)
    net.file = net.file[:-1]
    async with engine_of(tmp_path) as engine:
        with pytest.raises(EngineError):
            await engine.play(job(1, net))
        assert (await engine.play(job(2))).is_ok


async def test_a_game_that_cannot_be_played_is_an_error(tmp_path: Path) -> None:
    """And not a game that is missing for ever."""
    twice = replace(job(4), opening_moves=(3, 3))
    async with engine_of(tmp_path) as engine:
        with pytest.raises(EngineError, match=r"^The engine does not play game 4: .* occupied"):
            await engine.play(twice)
        with pytest.raises(EngineError, match="does not play game 4"):
            await engine.replay(twice, b"")
        assert (await engine.play(job(2))).is_ok


async def test_a_machine_that_computes_wrongly_from_the_start(tmp_path: Path) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with engine_of(tmp_path, [*WRONG, "0"]):
            pytest.fail("the engine was believed")
    error = only(caught.value)
    assert isinstance(error, WrongMachine)
    assert str(error).startswith("This machine computes wrongly: ")
    assert (tmp_path / "fault").read_text() == str(error)


async def test_a_machine_that_begins_to_compute_wrongly(tmp_path: Path) -> None:
    async with engine_of(tmp_path, [*WRONG, "2"]) as engine:
        await engine.verify_canaries()
        assert (await engine.play(job(2))).is_ok
        assert not (tmp_path / "fault").exists()
        with pytest.raises(WrongMachine):
            await engine.verify_canaries()
        assert (tmp_path / "fault").exists()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys; sys.exit('no luck.')", "ended with status 1 (no luck)"),
        ("print('Hello, world')", "said what is no answer: A frame of 1819043144 bytes is out of range"),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9"),
    ],
)
async def test_an_engine_that_dies_again_and_again(
    tmp_path: Path, program: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FIRST_WAIT_S", 0.01)
    told = Told()
    with pytest.raises(BaseExceptionGroup) as caught:
        async with engine_of(tmp_path, [sys.executable, "-c", program], told):
            pytest.fail("the engine was believed")
    error = only(caught.value)
    assert isinstance(error, EngineLost)
    assert str(error).startswith(f"The engine ended 5 times within 60 s; at last it {why}")
    assert len(told.events) == 4


async def test_an_engine_that_never_gets_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far apart its ends are."""
    monkeypatch.setattr(process, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(process, "START_WITHIN_S", 0.2)
    monkeypatch.setattr(process, "WITHIN_S", 0.0)
    told = Told()
    with pytest.raises(BaseExceptionGroup) as caught:
        async with engine_of(tmp_path, [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"], told):
            pytest.fail("the engine was believed")
    error = only(caught.value)
    assert isinstance(error, EngineLost)
    assert str(error).startswith("The engine did not start 5 times in a row; at last it was not ready within 0.2 s. ")
    assert len(told.events) == 4


async def test_an_engine_that_cannot_start(tmp_path: Path) -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        async with engine_of(tmp_path, [sys.executable, "-m", "native.serve", "--kernel", "abacus"]):
            pytest.fail("the engine was believed")
    error = only(caught.value)
    assert isinstance(error, EngineRefused)
    assert "'abacus' is none" in str(error)


async def test_an_engine_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "FIRST_WAIT_S", 0.01)
    program = "import sys; from native.pipe import Ready; sys.stdout.buffer.write(Ready(9, 'x', 1, 1).to_stream())"
    with pytest.raises(BaseExceptionGroup) as caught:
        async with engine_of(tmp_path, [sys.executable, "-c", program]):
            pytest.fail("the engine was believed")
    assert "Its frames have version 9" in str(only(caught.value))


async def test_a_killed_node_takes_its_engine_along(tmp_path: Path) -> None:
    """Also when the engine plays and its answers fill the pipe that nobody reads."""
    node = await trio.lowlevel.open_process([*TO_KILL, str(tmp_path)], stdout=subprocess.PIPE)
    assert node.stdout is not None
    pid = int((await node.stdout.receive_some(100)).split()[0])
    assert is_alive(pid)
    node.kill()
    await node.wait()
    await node.stdout.aclose()
    await ended(pid)


async def test_ctrl_c_is_not_for_the_engine(tmp_path: Path) -> None:
    async with engine_of(tmp_path) as engine:
        assert os.getpgid(engine.pid) != os.getpgid(0)
        os.kill(engine.pid, signal.SIGINT)
        await engine.verify_canaries()
        assert engine.restarts == 0


def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GONODE_MACHINE", str(tmp_path / "machine.json"))
    assert engine_settings(Kernel.SCALAR, None, None) == EngineSettings(Kernel.SCALAR, usable_cores(), 1)
    store_machine(Machine.here(kernel=Kernel.best(), net="b6c96", size=9, threads=3, games=8))
    found = engine_settings(Kernel.SCALAR, None, None)
    assert (found, found.seats) == (EngineSettings(Kernel.SCALAR, 3, 8), 24)
    assert engine_settings(Kernel.SCALAR, None, None, CUDA).games == CUDA_GAMES
    assert engine_settings(Kernel.SCALAR, None, None, cores=2).threads == 2
    assert engine_settings(Kernel.SCALAR, None, None, cores=64).threads == 3
    found = engine_settings(Kernel.SCALAR, 1, 2, CUDA, 5)
    assert found == EngineSettings(Kernel.SCALAR, 1, 2, "cuda", 5)
    assert " ".join(found.command()[2:]) == "-m trainer.serving.serve --device cuda --threads 1 --games 2 --nice 5"
    found = replace(found, device="cpu")
    assert " ".join(found.command()[2:]) == "-m native.serve --kernel scalar --threads 1 --games 2 --nice 5"
