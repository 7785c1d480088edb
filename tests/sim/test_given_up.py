"""A run whose first window cannot be trained: given up after the same failure twice, and gone on from to a release."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from node.coordinator.coordinator import Coordinator
from node.training.errors import TrainingFailed
from node.training.trainer_process import Report
from protocol.types import ZERO
from protocol.window import GivenUpCycle, TrainRecord, WindowCommitment
from tests.sim import inline_trainer
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from trainer.job import Job
from verification.state import LogState

SENTENCE = "Game 3 of batch 1f, by Zo\u00eb, is one of 31 with the same moves, of 64. " + "And more of it. " * 15
TRAIN_AGAIN_S = 4


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.coordinator.coordinator.TRAIN_AGAIN_S", TRAIN_AGAIN_S)


def failing(failures: list[TrainingFailed]) -> Callable[[Path, Report], Awaitable[None]]:
    """A trainer that fails so, one job after the other, and then trains."""

    async def train(job: Path, report: Report) -> None:
        if failures:
            raise failures.pop(0)
        await inline_trainer.train(job, report)

    return train


async def refused(
    folder: Path, failures: list[TrainingFailed], is_over: Callable[[LogState], bool]
) -> tuple[Simulation, list[str]]:
    """A run whose trainer fails so first, until it is over; gives too what the coordinator said it was doing."""
    manifest = sim_manifest()
    slowly = replace(manifest, window=replace(manifest.window, new_rows=900))
    async with simulated(folder, slowly, "given up") as sim:
        sim.train = failing(failures)
        sim.start()
        await sim.opened(sim.coordinator)
        role = sim.coordinator.role
        assert isinstance(role, Coordinator)
        doing: list[str] = []

        def is_over_now() -> bool:
            doing.append(role.status().work.doing)  # type: ignore[union-attr]
            return is_over(sim.state)

        await sim.until(is_over_now)
        await sim.finish()
        sim.settle()
        return sim, doing


def test_a_poisoned_window_is_given_up_and_the_run_goes_on(tmp_path: Path) -> None:
    failures = [TrainingFailed(SENTENCE, 1, "repeated-game") for _ in range(2)]
    sim, doing = virtually(refused, tmp_path, failures, lambda state: len(state.releases.all) == 2)
    cycles = [each for each in sim.entries() if isinstance(each, GivenUpCycle | TrainRecord | WindowCommitment)][:4]
    first, given_up, second, trained = cycles
    assert isinstance(first, WindowCommitment)
    assert isinstance(given_up, GivenUpCycle)
    assert isinstance(second, WindowCommitment)
    assert isinstance(trained, TrainRecord)
    assert (given_up.cycle, given_up.window, given_up.reason) == (1, first.log_size, "repeated-game")
    assert given_up.text == SENTENCE.replace("\u00eb", "?")[:200]
    assert second.total_rows >= first.total_rows + sim.manifest.window.new_rows
    assert (trained.cycle, trained.window, trained.parent_state) == (2, second.log_size, ZERO)
    job = Job.load(sim.coordinator.home.training / "cycle-00002" / "job.json")
    policy = sim.manifest.training
    assert job.samples == min(policy.samples_per_cycle, second.total_rows * policy.samples_per_row_milli // 1000)
    assert any(each.endswith(" more plies; cycle 1 was given up (repeated-game)") for each in doing)
    assert not doing[-1].endswith(")")
    tries, told = sim.said("training-failed"), sim.said("given-up")
    assert (len(tries), len(told)) == (1, 1)
    assert told[0].at_s >= tries[0].at_s + TRAIN_AGAIN_S
    assert (told[0].values["cycle"], told[0].values["reason"]) == (1, "repeated-game")
    (window,) = [check for check in sim.audit().checks if check.name == "window"]
    assert "Given up before it: 1 cycle, 1 (repeated-game)." in window.detail


def test_what_may_be_the_machine_is_tried_again(tmp_path: Path) -> None:
    failures = [
        TrainingFailed("The loss jumped.", 1, "loss-spike"),
        TrainingFailed("No GPU.", 2, "no-device"),
        TrainingFailed("No GPU.", 2, "no-device"),
        TrainingFailed("The loss jumped.", 1, "loss-spike"),
        TrainingFailed("The loss is not a number.", 1, "loss-not-finite"),
        TrainingFailed("A traceback's last line", 1),
        TrainingFailed("A traceback's last line", 1),
        TrainingFailed("It died.", 3),
        TrainingFailed("It died.", 3),
    ]
    count = len(failures)
    sim, doing = virtually(refused, tmp_path, failures, lambda state: state.trainings != [])
    assert not sim.state.given_up
    assert not any("given up" in each for each in doing)
    assert len(sim.said("training-failed")) == count
    assert sim.state.trainings[0].record.cycle == 1
