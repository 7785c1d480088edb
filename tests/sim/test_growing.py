"""A run that goes on with a larger network: asked for once, begun from nothing, gated, released, gone on from."""

from itertools import pairwise
from pathlib import Path

import pytest
import trio

from node.coordinator.growth import GrowthRefused
from protocol.types import ZERO
from tests.sim.inline_trainer import STEPS
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from trainer.job import Job

SMALL, LARGE = "b1c16", "b2c16"


def job_of(sim: Simulation, cycle: int) -> Job:
    """What the trainer was asked for in a cycle, as it reads it."""
    return Job.load(sim.coordinator.home.training / f"cycle-{cycle:05d}" / "job.json")


def released(sim: Simulation, shape: str) -> int:
    """How many releases have a network of this shape."""
    return sum(release.shape == shape for release in sim.state.releases.all[1:])


async def grown(folder: Path) -> Simulation:
    """Asked to grow after a release, killed while it trains and started again without being asked, to two more releases."""
    async with simulated(folder, sim_manifest(), "larger") as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and released(sim, SMALL))
        await sim.stop(sim.coordinator)
        sim.grow = LARGE
        sim.start(sim.coordinator)
        await sim.opened(sim.coordinator)
        sim.grow = None
        before = len(sim.state.trainings)
        await sim.until(lambda: sim.state.untrained_window is not None)
        await trio.sleep(5.0)  # in the midst of the cycle
        assert len(sim.state.trainings) == before
        sim.kill(sim.coordinator)
        await sim.restart(sim.coordinator)
        await sim.opened(sim.coordinator)
        await sim.until(lambda: released(sim, LARGE) == 2)
        await sim.until(lambda: sim.state.batches.all[-1].header.release == sim.state.release.id)
        await sim.finish()
        sim.settle()
        return sim


def test_a_run_goes_on_with_a_larger_network(tmp_path: Path) -> None:
    sim = virtually(grown, tmp_path)
    state = sim.state
    records = [training.record for training in state.trainings]
    first = next(number for number, record in enumerate(records) if record.shape == LARGE)
    assert [record.shape for record in records] == [SMALL] * first + [LARGE] * (len(records) - first)
    assert first > 0
    for number, (before, record) in enumerate(pairwise(records), 1):
        assert record.parent_state == (ZERO if number == first else before.state)
        assert record.steps == before.steps + STEPS
        assert record.samples > before.samples
    assert {release.shape for release in state.releases.all[1:]} == {SMALL, LARGE}
    assert all(f"-{release.shape}-s" in release.name for release in state.releases.all[1:])

    window, policy = state.windows[first].record, state.manifest.training
    job, later = job_of(sim, first + 1), job_of(sim, first + 2)
    assert (job.shape.encode(), job.parent_state, job.parent_step) == (LARGE, None, STEPS * first)
    assert job.samples == window.rows * policy.samples_per_row_milli // 1000
    assert (later.shape.encode(), later.parent_step) == (LARGE, job.parent_step + STEPS)
    assert later.parent_digest == records[first].state
    assert [event.text for event in sim.said("growing")] == [
        f"The next cycle begins a network {LARGE} in the place of {SMALL}."
    ] * 2  # as it is asked, and as it starts again


async def asked_at_the_start(folder: Path, shape: str) -> Simulation:
    """A new run that is asked to grow at once, until its second network is released."""
    async with simulated(folder, sim_manifest(), "early") as sim:
        sim.grow = shape
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) == 3)
        await sim.finish()
        sim.settle()
        return sim


def test_a_new_run_grows_after_its_first_network(tmp_path: Path) -> None:
    sim = virtually(asked_at_the_start, tmp_path, LARGE)
    assert [release.shape for release in sim.state.releases.all] == [SMALL, SMALL, LARGE]
    assert "The cycle after the first begins" in sim.said("growing")[0].text


def test_the_present_shape_is_no_growth(tmp_path: Path) -> None:
    with pytest.raises(GrowthRefused, match="has a network b1c16 already"):
        virtually(asked_at_the_start, tmp_path, SMALL)
