"""A crowd on a bad network: nodes that come and go, a partition, and peers that lie. `make soak` has two hundred of them."""

from pathlib import Path
from random import Random

import pytest
import trio

from tests.sim.liars import lie
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import Simulation, simulated, virtually

VERIFIERS = 3
LINKED_S = 60.0
TWO_HUNDRED = ((190, 6, 60.0, 0), (160, 36, 240.0, 1))


async def live(folder: Path, contributors: int, liars: int, game_s: float, releases: int) -> Simulation:
    """The crowd comes; a third is cut off; a tenth is killed and starts again; all meet, and go on to so many releases."""
    names = tuple(f"peer {number}" for number in range(contributors))
    manifest = sim_manifest(tick_s=30, timeout_entries=600, epoch_entries=600, final_entries=3000)
    async with simulated(
        folder, manifest, "crowd", names, VERIFIERS, game_s=game_s, loss=0.03, delay_s=0.04, jitter_s=0.1, cut=0.001
    ) as sim:
        rng = Random("crowd")
        sim.start(sim.coordinator, *sim.verifiers)
        async with trio.open_nursery() as nursery:
            for number in range(liars):
                secret = sim.key(f"liar {number}")
                nursery.start_soon(lie, sim.network, secret, sim.run, sim.ticket.addresses, Random(number))
            for node in sim.contributors:
                sim.start(node)
                await trio.sleep(rng.uniform(0, 0.1))
            await sim.until(lambda: len(sim.state.registry.peers) == contributors, LINKED_S)

            away = set(rng.sample(sim.contributors, contributors // 3))
            sim.network.partition([node.host.public for node in away])
            for node in rng.sample(sim.contributors, contributors // 10):
                sim.kill(node)
                await sim.restart(node)
                await trio.sleep(rng.uniform(0, 3))
            sim.network.heal()
            await sim.until(lambda: all(is_level(sim, node) for node in sim.nodes.values()), LINKED_S)
            await sim.until(lambda: len(players(sim)) == contributors, 3 * game_s)
            await sim.until(lambda: sim.state.release.number >= releases, 7200)
            if releases:
                await sim.until(lambda: all(has_release(sim, node) for node in sim.contributors), 3 * game_s)
            nursery.cancel_scope.cancel()
        sim.settle()
        return sim


def players(sim: Simulation) -> set[bytes]:
    """Whose batches are logged."""
    return {batch.header.peer for batch in sim.state.batches.all}


def is_level(sim: Simulation, node: Node) -> bool:
    """Whether a node's copy of the log is the coordinator's but for what came in the last seconds."""
    return node.member is not None and node.member.state.size > sim.state.size - 30


def has_release(sim: Simulation, node: Node) -> bool:
    """Whether a node has the network of the first release on its disk."""
    release = sim.state.releases.all[1]
    return node.member is not None and node.member.blob_store.has(release.network_blob)


@pytest.mark.parametrize(
    ("contributors", "liars", "game_s", "releases"),
    [(36, 4, 60.0, 0), *(pytest.param(*crowd, marks=pytest.mark.soak) for crowd in TWO_HUNDRED)],
)
def test_a_crowd(tmp_path: Path, contributors: int, liars: int, game_s: float, releases: int) -> None:
    sim = virtually(live, tmp_path, contributors, liars, game_s, releases)
    registered = {node.secret.public for node in sim.contributors}
    assert set(sim.state.registry.peers) == players(sim) == registered
    decided = [batch for batch in sim.state.batches.all if batch.decision is not None]
    assert decided
    assert all(batch.is_accepted_batch for batch in decided)
