"""Faults of the machine and of the network, on the virtual clock: nothing is lost, nothing comes twice, all go on."""

import errno
from pathlib import Path
from random import Random

import pytest
import trio

from node.cli.main import BAD_INPUT, sentence_of, status_of
from node.coordinator.coordinator import Coordinator
from node.own_status import links_of
from tests.sim.ledger import waiting_entries
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import Simulation, simulated, virtually

HOUR_S = 3600.0
MOST_WRITES = 60
SENTENCES = {
    errno.ENOSPC: ("database or disk is full", "No space left on device"),
    errno.EROFS: ("attempt to write a readonly database", "Read-only file system"),
    errno.EIO: ("disk I/O error", "Input/output error"),
}


def of_role(sim: Simulation, role: str) -> list[Node]:
    """The nodes of a role."""
    roles = {"contributor": sim.contributors, "verifier": sim.verifiers, "coordinator": [sim.coordinator]}
    return roles[role]


async def with_broken_disks(folder: Path, role: str, times: int, word: str) -> Simulation:
    """A run whose nodes of one role find their disk full, read-only or broken at seeded writes; a start mends it."""
    rng = Random(word)
    async with simulated(folder, sim_manifest(), word) as sim:
        nodes = of_role(sim, role)
        sim.start()
        for _ in range(times):
            node, error = rng.choice(nodes), rng.choice(list(SENTENCES))
            await sim.opened(node)
            sim.break_disk(node, rng.randint(1, MOST_WRITES), error)
            with trio.fail_after(600):
                await node.life.ended.wait()
            failure = node.life.failure
            assert failure is not None, "the node ended for another reason"
            assert status_of(failure) == BAD_INPUT
            assert any(part in sentence_of(failure) for part in SENTENCES[error])
            await trio.sleep(rng.choice((0.0, 0.5, 5.0)))
            await sim.restart(node)
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) > 1)
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize("role", ["contributor", "verifier", "coordinator"])
def test_a_disk_that_takes_nothing_ends_a_node_and_loses_nothing(tmp_path: Path, role: str) -> None:
    sim = virtually(with_broken_disks, tmp_path, role, 10, f"disk {role}")
    assert sim.refused() == []


@pytest.mark.soak
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("role", ["contributor", "verifier", "coordinator"])
def test_hundreds_of_broken_disks(tmp_path: Path, role: str, number: int) -> None:
    virtually(with_broken_disks, tmp_path, role, 60, f"disks {role} {number}")


async def with_clocks_that_jump(folder: Path) -> Simulation:
    """Every wall clock jumps by hours, forth and back, while the run goes on."""
    async with simulated(folder, sim_manifest(), "clocks", verifiers=2) as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 3)
        rng = Random(5)
        for _ in range(12):
            node = rng.choice(list(sim.nodes.values()))
            node.skew_s = rng.choice((-1, 1)) * rng.uniform(1, 30) * HOUR_S
            size = sim.state.size
            await sim.until(lambda size=size: sim.state.size > size + 10, 120)
            assert node.member is not None
            now = node.member.clock()
            for link in links_of(node.member):
                assert 0 <= now - link.since_unix_s <= trio.current_time() + 1
        role = sim.coordinator.role
        assert isinstance(role, Coordinator)
        for queue in role.status().queues:
            since = queue.since_unix_s
            assert since is None or 0 <= sim.coordinator.member.clock() - since < 60  # type: ignore[union-attr]
        # One starts with a clock hours behind its last life's.
        for node in (sim.contributors[0], sim.verifiers[0], sim.coordinator):
            node.skew_s = -40 * HOUR_S
            sim.kill(node)
            await sim.restart(node)
        size = len(sim.entries())
        await sim.until(lambda: sim.coordinator.member and sim.state.size > size + 40)
        await sim.until(lambda: sim.coordinator.member and len(sim.state.releases.all) > 1)
        await sim.finish()
        sim.settle()
        return sim


def test_clocks_that_jump_by_hours_change_nothing(tmp_path: Path) -> None:
    sim = virtually(with_clocks_that_jump, tmp_path)
    assert sim.refused() == []
    assert not sim.said("ban")
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)


def waits_for_a_verdict(sim: Simulation) -> None:
    """The coordinator says which verdicts it awaits, and since when."""
    role, member = sim.coordinator.role, sim.coordinator.member
    assert isinstance(role, Coordinator)
    assert member is not None
    queues = {queue.name: queue for queue in role.status().queues}
    awaited = queues["batch-verdict"]
    oldest = min(batch.index for batch in sim.state.batches.open if batch.verdict is None)
    assert awaited.length >= 3
    assert awaited.waiting_for == f"a verdict on entry {oldest} and later ones"
    assert 300 < member.clock() - awaited.since_unix_s < 700


async def cut_for_ten_minutes(folder: Path, role: str) -> Simulation:
    """The network is cut around one node, in the middle of whatever it does, for ten minutes."""
    async with simulated(folder, sim_manifest(timeout_entries=400), f"cut {role}", game_s=60.0, jitter_s=0.05) as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 3)
        node = of_role(sim, role)[0]
        sim.network.partition([node.host.public])
        await trio.sleep(600)
        sim.note()
        if role == "verifier":
            waits_for_a_verdict(sim)
        others = [each for each in sim.nodes.values() if each is not node]
        assert all(node.host.public not in each.member.transport.peers() for each in others if each.member), (
            "a link that nobody answers is not kept"
        )
        sim.network.heal()
        size = sim.state.size
        await sim.until(lambda: sim.state.size > size + 20, 600)
        await sim.until(lambda: all(not waiting_entries(each) for each in sim.contributors), 600)
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize(
    "role",
    [
        pytest.param("contributor", marks=pytest.mark.soak),
        "verifier",
        pytest.param("coordinator", marks=pytest.mark.soak),
    ],
)
def test_a_cut_of_ten_minutes(tmp_path: Path, role: str) -> None:
    sim = virtually(cut_for_ten_minutes, tmp_path, role)
    assert sim.refused() == []
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)


async def killed_while_they_join(folder: Path, every: int, word: str) -> Simulation:
    """Contributors that are killed at their first writes: while they learn the log, register, and play their first games."""
    names = tuple(f"c{number}" for number in range(6))
    async with simulated(folder, sim_manifest(), word, contributors=names, cut=0.002) as sim:
        sim.start(sim.coordinator, *sim.verifiers)
        await sim.until(lambda: sim.coordinator.member and sim.state.epochs.all(sim.verifiers[0].secret.public))
        for number, node in enumerate(sim.contributors):
            sim.start(node)
            sim.kill_at_write(node, 1 + every * number)
            await sim.until(lambda node=node: not node.is_alive, 600)
            await sim.restart(node)
        peers = [node.secret.public for node in sim.contributors]
        await sim.until(lambda: all(sim.state.batches.tally(peer).verified for peer in peers), 900)
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize("every", [4, *(pytest.param(number, marks=pytest.mark.soak) for number in (1, 2, 3, 7, 11))])
def test_kills_while_nodes_join(tmp_path: Path, every: int) -> None:
    sim = virtually(killed_while_they_join, tmp_path, every, f"joins {every}")
    assert len(sim.said("registered")) >= len(sim.contributors)
    assert not sim.said("refused")


async def killed_while_they_drain(folder: Path, word: str) -> Simulation:
    """A contributor and the verifier are killed at writes of their drains, and drain again."""
    rng = Random(word)
    async with simulated(folder, sim_manifest(), word) as sim:
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > 3)
        for node in (*sim.contributors, *sim.verifiers) * 2:
            await sim.opened(node)
            node.role.drain()  # type: ignore[union-attr]
            sim.kill_at_write(node, rng.randint(1, 6))
            await sim.until(lambda node=node: not node.is_alive, 600)
            await sim.restart(node)
        size = len(sim.entries())
        await sim.until(lambda: sim.state.size > size + 20)
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize("number", [0, *(pytest.param(each, marks=pytest.mark.soak) for each in range(1, 6))])
def test_kills_while_nodes_drain(tmp_path: Path, number: int) -> None:
    sim = virtually(killed_while_they_drain, tmp_path, f"drains {number}")
    assert sim.refused() == []
