"""Verifiers keep batches while the coordinator is away, and pass them on: nothing is lost, nothing counts twice."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from node.contributor.contributor import Contributor
from node.disk.store import PeerRecord, Store
from node.peering.call import serve_calls
from node.peering.post import HELD, POST_PROTOCOL, Posted
from node.peering.transport import TransportError, peer_id
from protocol.entries import parse_entry
from protocol.header import BatchHeader
from tests.sim.ledger import kept_entries, waiting_entries
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import Simulation, simulated, virtually

HOUR_S = 3600.0


def logged_of(sim: Simulation, node: Node) -> list[BatchHeader]:
    """The batches of a contributor that are in the log, in its order."""
    return [batch.header for batch in sim.state.batches.all if batch.header.peer == node.secret.public]


def kept_of(verifier: Node, author: Node) -> set[tuple[bytes, int]]:
    """Release and first counter of the batches that a verifier's disk keeps for a contributor."""
    records = (parse_entry(entry).record for entry in kept_entries(verifier).values())
    return {
        (record.release, record.first_counter)
        for record in records
        if isinstance(record, BatchHeader) and record.peer == author.secret.public
    }


def waiting_of(node: Node) -> set[tuple[bytes, int]]:
    """Release and first counter of the batches in a contributor's outbox."""
    records = (parse_entry(entry).record for entry in waiting_entries(node).values())
    return {(record.release, record.first_counter) for record in records if isinstance(record, BatchHeader)}


def receipts_of(node: Node) -> int:
    """How many receipts for batches a contributor has."""
    with Store(node.home.database) as store:
        return sum(len(name) > len("receipt/") + 16 for name in store.names("receipt/"))


@contextmanager
def wall(sim: Simulation, one: Node, other: Node) -> Iterator[None]:
    """Two nodes that do not reach each other, while both reach the rest."""
    network, ends = sim.network, {one.host.public, other.host.public}
    reaches = network.reaches

    def reaches_over(a: bytes, b: bytes) -> bool:
        return {a, b} != ends and reaches(a, b)

    network.reaches = reaches_over  # type: ignore[method-assign]
    network.heal()
    yield
    network.reaches = reaches  # type: ignore[method-assign]
    network.heal()


async def begun(sim: Simulation, batches: int = 4) -> None:
    """Starts all nodes and returns once each contributor has batches in the log."""
    sim.start()
    await sim.until(lambda: sim.coordinator.member and len(sim.state.batches.all) > batches)
    await sim.until(lambda: all(logged_of(sim, node) for node in sim.contributors))


async def away(folder: Path, hours: float) -> Simulation:
    """The coordinator is alone for hours; one contributor goes for good, another and each verifier are killed meanwhile."""
    async with simulated(
        folder, sim_manifest(tick_s=120, timeout_entries=40), "mirrors", ("ada", "bob"), 2, game_s=60.0
    ) as sim:
        ada, bob = sim.contributors
        await begun(sim)
        sim.network.partition([sim.coordinator.host.public])
        await trio.sleep(hours * HOUR_S / 2)
        await sim.until(
            lambda: all(waiting_of(bob) and waiting_of(bob) <= kept_of(each, bob) for each in sim.verifiers)
        )
        promised = waiting_of(bob)
        assert len(promised) > 10 * hours
        sim.kill(bob)  # for good
        sim.kill(ada)
        await sim.restart(ada)
        for verifier in sim.verifiers:
            sim.kill_at_write(verifier, 3)
            await sim.until(lambda: not verifier.is_alive, HOUR_S)  # noqa: B023
            assert promised <= kept_of(verifier, bob), "what a verifier keeps survives its kill"
            await sim.restart(verifier)
        await trio.sleep(hours * HOUR_S / 2)
        role = ada.role
        assert isinstance(role, Contributor)
        assert "kept by verifiers too" in role.outbox.waiting_for
        sim.note()

        sim.network.heal()
        await sim.until(lambda: not waiting_entries(ada) and not any(kept_of(each, bob) for each in sim.verifiers))
        headers = logged_of(sim, bob)
        assert promised <= {(header.release, header.first_counter) for header in headers}
        await sim.finish()
        assert receipts_of(ada) == len(logged_of(sim, ada)), "each batch has its receipt, once"
        sim.settle()
        return sim


@pytest.mark.parametrize("hours", [0.3, pytest.param(2.0, marks=pytest.mark.soak)])
def test_batches_of_who_went_for_good_are_logged(tmp_path: Path, hours: float) -> None:
    sim = virtually(away, tmp_path, hours)
    assert not [event for event in sim.said("refused") if event.values["kind"] == "batch"]
    logged = [
        event.values["index"] for event in sim.said("logged", sim.nodes["ada"]) if event.values["kind"] == "batch"
    ]
    assert len(logged) == len(set(logged))
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)


async def around(folder: Path) -> Simulation:
    """One contributor loses the coordinator, another never reaches it; a verifier stands between."""
    async with simulated(folder, sim_manifest(tick_s=60), "around", ("ada", "cyd"), 1, game_s=10.0) as sim:
        ada, cyd = sim.contributors
        (verifier,) = sim.verifiers
        sim.start(sim.coordinator, verifier, ada)
        await sim.until(lambda: sim.coordinator.member and len(logged_of(sim, ada)) > 1)
        with Store(cyd.home.database) as store:
            store.put_peer(PeerRecord(f"/memory/1/p2p/{peer_id(verifier.host.public)}", verifier.host.public))
        with wall(sim, ada, sim.coordinator), wall(sim, cyd, sim.coordinator):
            sim.start(cyd)
            before = len(logged_of(sim, ada))
            await sim.until(lambda: len(logged_of(sim, ada)) > before + 6 and len(logged_of(sim, cyd)) > 6)
            await sim.until(lambda: receipts_of(ada) > before + 4 and receipts_of(cyd) > 4)
        await sim.finish()
        sim.settle()
        return sim


def test_a_verifier_stands_between(tmp_path: Path) -> None:
    sim = virtually(around, tmp_path)
    assert not [event for event in sim.said("refused") if event.values["kind"] == "batch"]
    assert sim.said("passed-on", sim.verifiers[0])
    assert sim.said("registered", sim.nodes["cyd"])


async def killed_again_and_again(folder: Path, kills: int) -> Simulation:
    """The only verifier is killed at one write after the other while it takes what is offered."""
    async with simulated(
        folder, sim_manifest(tick_s=120, timeout_entries=40), "kept", ("ada", "bob"), 1, game_s=10.0
    ) as sim:
        await begun(sim)
        (verifier,) = sim.verifiers
        sim.network.partition([sim.coordinator.host.public])
        for number in range(kills):
            sim.kill_at_write(verifier, 1 + number % 7)
            await sim.until(lambda: not verifier.is_alive, HOUR_S)
            await sim.restart(verifier)
        await sim.until(lambda: kept_of(verifier, sim.nodes["ada"]) and kept_of(verifier, sim.nodes["bob"]))
        sim.note()
        sim.network.heal()
        await sim.until(lambda: not any(waiting_entries(node) for node in sim.contributors))
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.soak)])
def test_a_verifier_is_killed_while_it_takes_batches(tmp_path: Path, kills: int) -> None:
    sim = virtually(killed_again_and_again, tmp_path, kills)
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)


# ---- liars

Answer = Callable[[bytes, bytes], Awaitable[bytes]]

LIES = (b"junk", Posted(7, b"junk").encode(), Posted(7, b"").encode(), HELD.encode())


def says(answer: bytes) -> Answer:
    """Answers every post alike."""

    async def serve(peer: bytes, request: bytes) -> bytes:
        await trio.lowlevel.checkpoint()
        return answer

    return serve


async def lie(sim: Simulation, name: str, answer: Answer, nodes: list[Node], task_status: Any) -> None:
    """A peer in no register that stays linked to nodes and takes their posts."""
    async with sim.network.open(sim.key(name)) as transport:
        serve_calls(transport, POST_PROTOCOL, answer)
        serve_calls(transport, "/gonode/peers/1", says(b"\x81\xa9addresses\x90"))
        task_status.started()
        while True:
            for node in nodes:
                if node.is_alive and node.host.public not in transport.peers():
                    try:
                        await transport.dial(f"/memory/1/p2p/{peer_id(node.host.public)}")
                    except TransportError:
                        continue
            await trio.sleep(5)


async def among_liars(folder: Path) -> Simulation:
    """While the coordinator is away, liars take batches: with junk, with false receipts, with a promise they forget."""
    manifest = sim_manifest(tick_s=120, timeout_entries=40)
    async with simulated(folder, manifest, "liars", ("ada", "bob"), 1, game_s=20.0) as sim:
        await begun(sim)
        sim.network.partition([sim.coordinator.host.public])
        async with trio.open_nursery() as nursery:
            for number, answer in enumerate(LIES):
                await nursery.start(_start_lying, sim, f"liar {number}", says(answer), sim.contributors)
            await trio.sleep(HOUR_S / 4)
            (verifier,) = sim.verifiers
            assert all(len(waiting_of(node)) > 5 for node in sim.contributors), "nobody believed a liar"
            await sim.until(lambda: all(kept_of(verifier, node) for node in sim.contributors))
            sim.network.heal()
            await sim.until(lambda: not any(waiting_entries(node) for node in sim.contributors))
            nursery.cancel_scope.cancel()
        await sim.finish()
        sim.settle()
        return sim


async def _start_lying(
    sim: Simulation, name: str, answer: Answer, nodes: list[Node], task_status: Any = trio.TASK_STATUS_IGNORED
) -> None:
    await lie(sim, name, answer, nodes, task_status)


def test_no_liar_loses_a_batch(tmp_path: Path) -> None:
    sim = virtually(among_liars, tmp_path)
    assert not [event for event in sim.said("refused") if event.values["kind"] == "batch"]
    for node in sim.contributors:
        assert receipts_of(node) == len(logged_of(sim, node))
