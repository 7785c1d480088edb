"""Cycles that close with quantised steps, follow a schedule, or start a grown network: the same bytes after any death."""

import dataclasses
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from protocol.manifest import RatePoint
from tests.trainer.conftest import job_maker
from tests.trainer.test_cycle import Batches, cycle, files, interrupt_after, result_of, start, wait_for
from trainer.cycle import state_name
from trainer.errors import BadJob
from trainer.export import NETWORK
from trainer.job import Job
from trainer.learning.state import TrainState
from trainer.metrics import METRICS

SCHEDULE = (RatePoint(30, 1_000_000), RatePoint(90, 100_000))
POLICY: dict[str, Any] = {"quantised_share_ppm": 500_000, "schedule": SCHEDULE}


def out_of(path: Path) -> Path:
    return Path(json.loads(path.read_text())["out"])


def states_of(path: Path) -> dict[int, TrainState]:
    """The recorded states of a job by their step."""
    return {
        point["step"]: TrainState.load(out_of(path) / state_name(point["step"]))[0]
        for point in result_of(path)["states"]
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, batches: Batches) -> Path:
    """A job without rounding that is done; look only."""
    path = job_maker(tmp_path_factory.mktemp("plain"))(batches)
    cycle(path)
    return path


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, batches: Batches) -> Path:
    """A job by POLICY that is done; look only."""
    path = job_maker(tmp_path_factory.mktemp("closed"))(batches, **POLICY)
    cycle(path)
    return path


@pytest.mark.parametrize(("share", "first"), [(0, 60), (100_000, 54), (999_999, 1), (1_000_000, 0)])
def test_the_share_counts_whole_steps_at_the_end(make_job: Any, share: int, first: int) -> None:
    batch = {"path": "b", "raw_len": 5, "blob_digest": "00" * 32, "header_digest": "11" * 32}
    assert Job.load(make_job([batch], quantised_share_ppm=share)).first_quantised == first


def test_steps_before_the_quantised_ones_are_the_same(make_job: Any, batches: Batches, plain: Path) -> None:
    rounded = make_job(batches, "rounded", quantised_share_ppm=500_000)
    cycle(rounded)
    first, second = states_of(plain), states_of(rounded)
    assert all(not len(state.ranges) for state in first.values())
    assert [len(second[step].ranges) for step in (25, 50, 60)] == [0, 9, 9]
    assert (second[50].ranges > 0.1).all()
    for step in (25, 50):
        same = all((array == second[step].weights[name]).all() for name, array in first[step].weights.items())
        assert same == (step == 25)
    assert files(plain)[NETWORK] != files(rounded)[NETWORK]
    assert result_of(rounded)["rounding"]["policy_divergence"] < 0.005
    assert 0 < result_of(rounded)["rounding"]["value_error"] < 0.05
    lines = [(out_of(path) / METRICS).read_text().splitlines() for path in (plain, rounded)]
    assert lines[0][1:4] == lines[1][1:4]
    assert lines[0][4:] != lines[1][4:]


def test_an_interruption_among_quantised_steps_changes_no_byte(make_job: Any, batches: Batches, closed: Path) -> None:
    cut = make_job(batches, "cut", **POLICY)
    for steps in (30, 1, 13, 0, 9):  # before the first one, after it, and twice among them
        interrupt_after(cut, steps)
    cycle(cut)
    assert files(cut) == files(closed)


def test_a_cycle_killed_among_quantised_steps_ends_in_the_same_bytes(make_job: Any, batches: Batches) -> None:
    whole, killed = (make_job(batches, name, SAMPLES=32 * 120, **POLICY) for name in ("whole", "killed"))
    cycle(whole)
    process = start(killed)
    wait_for((out_of(killed) / state_name(75)).exists, process)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    process = start(killed)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert files(killed) == files(whole)


def test_the_next_cycle_starts_without_rounding(make_job: Any, batches: Batches, closed: Path) -> None:
    parent = out_of(closed) / result_of(closed)["state"]["path"]
    second = make_job(batches, "second", PARENT_STATE=str(parent), PARENT_STEP=60, **POLICY)
    cycle(second)
    found = states_of(second)
    assert [len(found[step].ranges) for step in (85, 110, 120)] == [0, 9, 9]
    assert (found[110].ranges != states_of(closed)[60].ranges).any()


def test_a_grown_network_learns_from_its_seed_at_a_later_step(make_job: Any, batches: Batches) -> None:
    changes = {"SHAPE": "b3c16", "PARENT_STEP": 1000, **POLICY}
    grown, cut = make_job(batches, "grown", **changes), make_job(batches, "cut", **changes)
    cycle(grown)
    result = result_of(grown)
    assert (result["shape"], result["step"], result["steps"]) == ("b3c16", 1060, 60)
    assert result["parent_state"] == "00" * 32
    found = states_of(grown)
    assert list(found) == [1025, 1050, 1060]
    assert {(state.born, state.shape.encode()) for state in found.values()} == {(1000, "b3c16")}
    for steps in (10, 40):  # the second right after a recorded state
        interrupt_after(cut, steps)
    cycle(cut)
    assert files(cut) == files(grown)

    early = make_job(batches, "early", SHAPE="b3c16", **POLICY)
    cycle(early)
    weights, other = states_of(early)[60].weights, found[1060].weights
    assert all((array == other[name]).all() for name, array in weights.items())

    parent = out_of(grown) / result["state"]["path"]
    after = make_job(batches, "after", SHAPE="b3c16", PARENT_STATE=str(parent), PARENT_STEP=1060, **POLICY)
    cycle(after)
    assert {state.born for state in states_of(after).values()} == {1000}
    wrong = make_job(batches, "wrong", PARENT_STATE=str(parent), PARENT_STEP=1060, **POLICY)
    with pytest.raises(BadJob, match="of b3c16, not b2c16"):
        cycle(wrong)


def test_the_schedule_slows_the_last_steps(make_job: Any, batches: Batches) -> None:
    still = (RatePoint(25, 1_000_000), RatePoint(26, 0))
    path = make_job(batches, schedule=still, weight_decay_micro=0)
    cycle(path)
    found = states_of(path)
    assert any((array != found[50].average[name]).any() for name, array in found[25].average.items())
    assert all((array == found[60].weights[name]).all() for name, array in found[50].weights.items())


def test_what_was_used_is_in_the_result(make_job: Any, batches: Batches, plain: Path) -> None:
    result = result_of(plain)
    assert (result["shape"], result["device"], result["processes"], result["threads"]) == ("b2c16", "cpu", 1, 1)
    assert (result["batches"], result["loss_rows"]) == (len(batches), 60 * 32)
    assert 0 < result["held_out_rows"] < result["rows"]
    assert result["held_out_losses"].keys() == result["losses"].keys()
    assert set(result["rounding"]) == {
        *("rows", "policy_divergence", "value_error", "value_error_largest", "score_error", "same_first_move")
    }
    none = make_job(batches, "none", held_out_ppm=0)
    cycle(none)
    assert (result_of(none)["held_out_losses"], result_of(none)["held_out_rows"]) == ({}, 0)
    assert dataclasses.asdict(states_of(plain)[60].position)["done"] == 60
