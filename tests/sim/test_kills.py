"""Kills at seeded moments, of every role: no finished game and no admitted batch is lost, and the log stays one log."""

from pathlib import Path
from random import Random

import pytest
import trio

from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import Simulation, simulated, virtually

MOST_WRITES = 60


async def kill_again_and_again(sim: Simulation, nodes: list[Node], times: int, rng: Random) -> None:
    """Kills one of `nodes` at one of its next writes, has it start again after a while, and so on."""
    for _ in range(times):
        node = rng.choice(nodes)
        sim.kill_at_write(node, rng.randint(1, MOST_WRITES))
        await sim.until(lambda: not node.is_alive, 600)  # noqa: B023
        await trio.sleep(rng.choice((0.0, 0.5, 5.0)))
        await sim.restart(node)


async def through_kills(folder: Path, role: str, kills: int, word: str) -> Simulation:
    """A run whose nodes of one role (or any) are killed at seeded writes, drained and settled in the end."""
    async with simulated(folder, sim_manifest(), word) as sim:
        nodes = {
            "contributor": sim.contributors,
            "verifier": sim.verifiers,
            "coordinator": [sim.coordinator],
            "any": list(sim.nodes.values()),
        }[role]
        sim.start()
        await kill_again_and_again(sim, nodes, kills, Random(word))
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) > 1)
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize("role", ["contributor", "verifier", "coordinator"])
def test_each_role_is_killed(tmp_path: Path, role: str) -> None:
    sim = virtually(through_kills, tmp_path, role, 20, f"kill {role}")
    assert not sim.said("refused")


@pytest.mark.soak
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("role", ["contributor", "verifier", "coordinator", "any"])
def test_hundreds_of_kills(tmp_path: Path, role: str, number: int) -> None:
    virtually(through_kills, tmp_path, role, 60, f"soak {role} {number}")
