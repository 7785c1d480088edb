"""Two hundred nodes on a bad network, with nodes that come and go, a partition, and peers that lie to whoever asks."""

from pathlib import Path
from random import Random

import pytest
import trio

from node.peering.transport import address_key
from tests.sim.liars import lie
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.remembered import remembered
from tests.sim.simulation import Simulation, simulated, virtually

VERIFIERS = 3


async def live(folder: Path, contributors: int, liars: int, game_s: float, partition_s: float) -> Simulation:
    """The crowd comes, is cut in two, loses a tenth of its nodes, gets them back, and takes the first gated release."""
    names = tuple(f"peer {number}" for number in range(contributors))
    manifest = sim_manifest(tick_s=30, timeout_entries=300, epoch_entries=300, final_entries=3000)
    async with simulated(
        folder, manifest, "crowd", names, VERIFIERS, game_s=game_s, loss=0.03, delay_s=0.04, jitter_s=0.1, cut=0.001
    ) as sim:
        rng = Random("crowd")
        sim.start(sim.coordinator, *sim.verifiers)
        await sim.until(lambda: sim.coordinator.member and sim.state.verifiers())
        async with trio.open_nursery() as nursery:
            for number in range(liars):
                secret = sim.key(f"liar {number}")
                nursery.start_soon(lie, sim.network, secret, sim.run, sim.ticket.addresses, Random(number))
            for node in sim.contributors:
                sim.start(node)
                await trio.sleep(rng.uniform(0, 0.2))
            await sim.until(lambda: len(sim.state.registry.peers) == contributors)

            away = rng.sample(sim.contributors, contributors // 3)
            sim.network.partition([node.host.public for node in away])
            await trio.sleep(partition_s / 2)
            lost = rng.sample(sim.contributors, contributors // 10)
            for node in lost:
                if node.is_alive:
                    sim.kill(node)
                await trio.sleep(rng.uniform(0, 2))
            await trio.sleep(partition_s / 2)
            sim.network.heal()
            for node in lost:
                await sim.restart(node)

            await sim.until(lambda: sim.state.release.number >= 1, 7200)
            await sim.until(lambda: all(has_release(sim, node) for node in sim.contributors), 3 * game_s)
            nursery.cancel_scope.cancel()
        await sim.finish()
        sim.settle()
        return sim


def has_release(sim: Simulation, node: Node) -> bool:
    """Whether a node has the network of the first release on its disk."""
    release = sim.state.releases.all[1]
    return node.member is not None and node.member.blob_store.has(release.network_blob)


@pytest.mark.parametrize(
    ("contributors", "liars", "game_s"),
    [(190, 6, 240.0), pytest.param(190, 40, 60.0, marks=pytest.mark.soak)],
)
def test_two_hundred_nodes(tmp_path: Path, contributors: int, liars: int, game_s: float) -> None:
    with remembered():
        sim = virtually(live, tmp_path, contributors, liars, game_s, 120.0)
    registered = {node.secret.public for node in sim.contributors}
    assert set(sim.state.registry.peers) == registered
    assert {batch.header.peer for batch in sim.state.batches.all} == registered
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)
    seed = address_key(sim.ticket.addresses[0])
    assert sim.network.sent_bytes[seed] == max(sim.network.sent_bytes.values()), "the coordinator sends most"
