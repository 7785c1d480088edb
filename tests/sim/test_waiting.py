"""What nodes say while the run does not move: drained, or without an approved verifier."""

from pathlib import Path

import trio

from node.contributor.contributor import Contributor
from node.coordinator.coordinator import Coordinator
from node.role_status import Coordinating
from node.screen.details import all_rows
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import simulated, virtually


def work_of(role: Coordinator) -> Coordinating:
    """A coordinator's own part of its status."""
    work = role.status().work
    assert isinstance(work, Coordinating)
    return work


async def drained(folder: Path) -> None:
    async with simulated(folder, sim_manifest(tick_s=20), "drained") as sim:
        sim.start(sim.coordinator)
        await sim.opened(sim.coordinator)
        role = sim.coordinator.role
        assert isinstance(role, Coordinator)
        await sim.until(lambda: "more plies" in work_of(role).doing)
        role.quiesce()
        size = sim.state.size
        await sim.until(lambda: sim.state.size > size + 2)
        assert work_of(role).doing == "draining"
        assert any("draining" in row.parts for row in all_rows(role.status()))


def test_a_coordinator_that_drains_says_so_and_goes_on(tmp_path: Path) -> None:
    virtually(drained, tmp_path)


async def without_a_verifier(folder: Path) -> None:
    async with simulated(folder, sim_manifest(tick_s=20), "alone", contributors=("ada",), verifiers=0) as sim:
        (ada,) = sim.contributors
        sim.start()
        await sim.until(lambda: sim.said("waiting", ada))
        await trio.sleep(60)
        (said,) = sim.said("waiting", ada)
        assert said.text.startswith("Registered; waiting for a verifier: none is approved")
        assert isinstance(ada.role, Contributor)
        (queue,) = ada.role.queues
        assert (queue.name, queue.length) == ("registration", 1)
        assert queue.waiting_for.startswith("a verifier: none is approved")
        role = sim.coordinator.role
        assert isinstance(role, Coordinator)
        assert work_of(role).doing.endswith("more plies; no verifier is approved")


def test_without_an_approved_verifier_everybody_says_so(tmp_path: Path) -> None:
    virtually(without_a_verifier, tmp_path)
