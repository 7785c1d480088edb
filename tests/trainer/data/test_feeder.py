"""Minibatches from workers are those laid out here, bit for bit; a worker that dies, hangs or is left behind ends alone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.data import crew
from trainer.data.draws import Sampler
from trainer.data.feeder import Feeder
from trainer.data.minibatch import Minibatch, collate
from trainer.data.reader import open_window
from trainer.data.rows import Window
from trainer.job import Job

FIELDS = ("planes", "legal", "policy", "opponent_policy", "result", "root_value", "score", "ownership", "board")
HOME = Path(__file__).parents[3]
STEPS = 20


def assert_same(one: Minibatch, other: Minibatch) -> None:
    for name in FIELDS:
        a, b = getattr(one, name), getattr(other, name)
        assert a.stride() == b.stride(), name
        assert a.numpy().tobytes() == b.numpy().tobytes(), name
        assert a.data_ptr() % 64 == b.data_ptr() % 64 == 0, name
    assert one.whole == other.whole


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until(found: Any) -> None:
    until = time.monotonic() + 30
    while not found():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def window(make_job: Any, mixed_batches: list[dict[str, Any]], tmp_path: Path) -> Window:
    """Partly in a nameless file: what workers are passed by descriptor."""
    job = Job.load(make_job(mixed_batches))
    job.out.mkdir(parents=True)
    return open_window(job, lambda file, why: pytest.fail(why), pytest.fail)[0]


def sampler_of(window: Window, minibatch: int = 24, part: tuple[int, int] = (0, 1)) -> Sampler:
    return Sampler(bytes(range(32)), window.numbers(held_out=False), minibatch, part)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_any_number_of_workers_gives_the_same_minibatches(window: Window, workers: int) -> None:
    sampler = sampler_of(window)
    with Feeder(window, sampler_of(window), workers, pytest.fail) as feeder:
        assert len(feeder.pids) == workers
        for step in range(5, 5 + STEPS):
            assert_same(feeder.minibatch(step), collate(window, *sampler.minibatch(step)))
        assert 0 < feeder.waited_s < 60
        pids = feeder.pids
    assert not any(map(is_running, pids))


def test_canvases_change_from_step_to_step(window: Window) -> None:
    with Feeder(window, sampler_of(window, 2), 1, pytest.fail) as feeder:
        sizes = {feeder.minibatch(step).planes.shape[-1] for step in range(40)}
    assert sizes == {7, 9}


def test_the_parts_of_two_processes_are_the_whole(window: Window) -> None:
    with (
        Feeder(window, sampler_of(window, 24, (0, 2)), 1) as first,
        Feeder(window, sampler_of(window, 24, (1, 2)), 0) as second,
    ):
        for step in range(4):
            whole = collate(window, *sampler_of(window).minibatch(step))
            parts = first.minibatch(step), second.minibatch(step)
            together = np.concatenate([part.result.numpy() for part in parts])
            assert together.tolist() == whole.result.tolist()


def test_a_minibatch_stays_until_the_next_is_asked_for(window: Window) -> None:
    with Feeder(window, sampler_of(window), 2, pytest.fail) as feeder:
        for step in range(STEPS):
            batch = feeder.minibatch(step)
            before = batch.planes.numpy().tobytes()
            time.sleep(0.01)
            assert batch.planes.numpy().tobytes() == before


def test_steps_come_in_order(window: Window) -> None:
    with Feeder(window, sampler_of(window), 0) as feeder:
        feeder.minibatch(3)
        with pytest.raises(ValueError, match="minibatch 5 is not the next"):
            feeder.minibatch(5)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_dies_or_hangs_is_told_of_and_replaced_by_the_trainer(
    window: Window, number: signal.Signals
) -> None:
    told: list[str] = []
    sampler, within_s = sampler_of(window), 4 if number == signal.SIGSTOP else 60
    with Feeder(window, sampler_of(window), 2, told.append, answers_within_s=within_s) as feeder:
        for step in range(STEPS):
            if step == 7:
                victim = feeder.pids[0]
                os.kill(victim, number)
            assert_same(feeder.minibatch(step), collate(window, *sampler.minibatch(step)))
        assert set(told) == {"A data worker ended (status -9); the trainer does its part itself."}
        assert victim not in feeder.pids
    assert not is_running(victim)


def test_a_worker_that_never_takes_its_task_is_told_of(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    start: Callable[..., None] = crew.Worker.__init__

    def start_and_stop(self: crew.Worker, *arguments: Any) -> None:
        start(self, *arguments)
        os.kill(self.process.pid, signal.SIGSTOP)

    monkeypatch.setattr(crew.Worker, "__init__", start_and_stop)
    numbers = np.tile(window.numbers(held_out=False), 1000)  # more than a socket holds
    told: list[str] = []
    with Feeder(window, Sampler(bytes(32), numbers, 24), 1, told.append, answers_within_s=0.5) as feeder:
        feeder.minibatch(0)
    assert len(told) == 1


def test_all_workers_dead_is_slower_and_the_same(window: Window) -> None:
    told: list[str] = []
    sampler = sampler_of(window)
    with Feeder(window, sampler_of(window), 2, told.append) as feeder:
        assert_same(feeder.minibatch(0), collate(window, *sampler.minibatch(0)))
        for pid in feeder.pids:
            os.kill(pid, signal.SIGKILL)
        for step in range(1, STEPS):
            assert_same(feeder.minibatch(step), collate(window, *sampler.minibatch(step)))
        assert len(told) == 2
        assert feeder.pids == []


def test_workers_do_not_take_the_terminals_signals(window: Window) -> None:
    with Feeder(window, sampler_of(window), 1, pytest.fail) as feeder:
        feeder.minibatch(0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(feeder.pids[0], number)
        for step in range(1, STEPS):
            feeder.minibatch(step)


def test_a_worker_imports_no_torch(window: Window) -> None:
    with Feeder(window, sampler_of(window), 1, pytest.fail) as feeder:
        feeder.minibatch(0)
        mapped = Path(f"/proc/{feeder.pids[0]}/maps").read_text()
    assert "numpy" in mapped
    assert "libtorch" not in mapped


PARENT = """
import os, sys, time
from pathlib import Path
from native.packed import pack_game
from trainer.data.draws import Sampler
from trainer.data.feeder import Feeder
from trainer.data.rows import Window
window = Window.of([Path(sys.argv[1]).read_bytes()])
feeder = Feeder(window, Sampler(bytes(32), window.numbers(held_out=False), 4), 2)
feeder.minibatch(0)
print(*feeder.pids, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_the_trainer(window: Window, tmp_path: Path, number: signal.Signals) -> None:
    game = window.games[0]
    memory = window.segments[game["segment"]].map()
    (tmp_path / "game").write_bytes(memory[int(game["offset"]) : int(game["offset"]) + int(game["length"])])
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "game")],
        cwd=HOME,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(is_running, pids))
    process.send_signal(number)
    process.wait(30)
    process.stdout.close()
    wait_until(lambda: not any(map(is_running, pids)))
