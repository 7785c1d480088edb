"""Train states in the coordinator's public folder: those that retraining may need, through kills and restarts."""

from pathlib import Path

import pytest

from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from verification import training
from verification.training import kept_states, named_states


def published(sim: Simulation) -> set[bytes]:
    """The train states that lie in the coordinator's public folder."""
    blobs = set(sim.coordinator.home.public.glob("blob/*/*"))
    return {digest for digest in named_states(sim.state) if any(path.name == digest.hex() for path in blobs)}


async def run(folder: Path) -> Simulation:
    """Four trainings; the coordinator is killed within the writes after its third window."""
    async with simulated(folder, sim_manifest(), "states") as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.trainings) == 2)
        assert published(sim) == named_states(sim.state) == kept_states(sim.state).keys()
        await sim.until(lambda: len(sim.state.windows) == 3)
        sim.kill_at_write(sim.coordinator, 12)
        await sim.until(lambda: not sim.coordinator.is_alive, 600)
        await sim.restart(sim.coordinator)
        await sim.until(lambda: sim.coordinator.member and len(sim.state.trainings) == 4)
        await sim.finish()
        sim.settle()
        return sim


def test_states_are_published_and_old_ones_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the states since the newest release were kept."""
    monkeypatch.setattr(training, "KEPT_RELEASES", 1)
    sim = virtually(run, tmp_path)
    kept = kept_states(sim.state).keys()
    found = published(sim)
    assert kept <= found
    assert len(found - kept) <= 1, "what the newest release made old goes with the next training"
    assert len(named_states(sim.state)) > len(found) >= 2
    assert not list(sim.coordinator.home.training.glob("cycle-*/train_state-*"))
