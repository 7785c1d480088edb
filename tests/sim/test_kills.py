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
    sim = virtually(through_kills, tmp_path, role, 12, f"kill {role}")
    assert sim.refused() == []


async def without_one_of_three(folder: Path, kills: int, word: str) -> Simulation:
    """Three verifiers, of whom two are enough; one is away for long, then any node is killed again and again."""
    async with simulated(
        folder, sim_manifest(timeout_entries=40), word, verifiers=3, loss=0.03, jitter_s=0.05, cut=0.003
    ) as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 6)
        away = sim.verifiers[2]
        sim.kill(away)
        size = sim.state.size
        await sim.until(lambda: sim.state.size > size + 120)
        await sim.restart(away)
        await kill_again_and_again(sim, list(sim.nodes.values()), kills, Random(word))
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) > 1)
        await sim.finish()
        sim.settle()
        return sim


def test_others_take_over_from_a_verifier_that_is_away(tmp_path: Path) -> None:
    sim = virtually(without_one_of_three, tmp_path, 3, "three")
    verdicts = [batch.verdict for batch in sim.state.batches.all]
    assert len({verdict.verifier for verdict in verdicts if verdict is not None}) == 3
    assert any(batch.verdict.verifier != batch.assigned for batch in sim.state.batches.all if batch.verdict)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("role", ["contributor", "verifier", "coordinator", "any"])
def test_hundreds_of_kills(tmp_path: Path, role: str, number: int) -> None:
    virtually(through_kills, tmp_path, role, 60, f"soak {role} {number}")


@pytest.mark.soak
@pytest.mark.parametrize("number", range(10))
def test_hundreds_of_kills_among_three_verifiers(tmp_path: Path, number: int) -> None:
    virtually(without_one_of_three, tmp_path, 20, f"soak three {number}")
