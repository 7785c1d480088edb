"""Runs that take stamps: few slots that many share, and a flood of keys that only want to be let in."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import trio

from node.contributor.contributor import Contributor
from node.peering.call import CallRefused, call
from node.peering.post import POST_PROTOCOL, Post
from node.peering.transport import TransportError
from protocol import stamp
from protocol.registration import Registration
from protocol.seeds import PPM, first_u64
from protocol.slots import SlotList
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import Simulation, simulated, virtually

NAMES = tuple(f"peer {number}" for number in range(6))


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tries by a hash in the place of scrypt."""

    def number(message: bytes, nonce: int) -> int:
        return first_u64(sha256(message + nonce.to_bytes(8, "little")).digest())

    with monkeypatch.context() as patch:
        patch.setattr(stamp, "stamp_number", number)
        yield


def uninvited(
    member: Any, secret: Any, engine: Any, kernel: str, in_flight: int, invite: bytes, name: str
) -> Contributor:
    """A contributor that does not use its invite."""
    return Contributor(member, secret, engine, kernel, in_flight, b"", name)


def is_in(sim: Simulation, node: Node) -> bool:
    """Whether a node's first batches are accepted, so that it needs no slot."""
    identity = sim.state.batches.identity(node.secret.public)
    return identity is not None and identity.first_passed(sim.manifest.admission)


async def watch(sim: Simulation, held: list[int]) -> None:
    """Notes how many slots are taken, ten times a second."""
    while True:
        held.append(len(sim.state.slots.holders))
        await trio.sleep(0.1)


# ---- two slots for six


async def shared(folder: Path) -> Simulation:
    """Six contributors with stamps of difficulty 2 share two slots; one is killed while it waits, the coordinator too."""
    manifest = sim_manifest(
        registration="stamp", stamp_difficulty=2, probation_slots=2, timeout_entries=150, epoch_entries=200
    )
    async with simulated(folder, manifest, "slots", NAMES) as sim:
        for node in sim.contributors:
            node.make = uninvited
        sim.start()
        await sim.until(lambda: sim.said("waiting", sim.contributors[0]) or sim.said("registered"))
        await sim.until(lambda: len(sim.state.registry.peers) >= 2)
        held: list[int] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, sim, held)
            waits = next(node for node in sim.contributors if sim.state.registry.find(node.secret.public) is None)
            await sim.until(lambda: sim.said("waiting", waits))
            assert isinstance(waits.role, Contributor)
            (queue,) = waits.role.queues
            assert queue.waiting_for.startswith("a probation slot: place ")
            sim.kill(waits)
            await sim.restart(waits)
            sim.kill(sim.coordinator)
            await sim.restart(sim.coordinator)
            await sim.opened(sim.coordinator)
            await sim.until(lambda: all(is_in(sim, node) for node in sim.contributors))
            nursery.cancel_scope.cancel()
        assert max(held) == 2
        await sim.finish()
        sim.settle()
        return sim


def test_six_share_two_slots(tmp_path: Path) -> None:
    sim = virtually(shared, tmp_path)
    assert set(sim.state.registry.peers) == {node.secret.public for node in sim.contributors}
    assert not any(sim.state.registry.has_lost_slot(peer) for peer in sim.state.registry.peers)
    registrations = [record for record in sim.entries() if isinstance(record, Registration)]
    assert len(registrations) == 6
    assert all(stamp.is_stamp(record, 2) and not record.invite for record in registrations)


# ---- a flood

SYBILS = 200
PREFIXES = 5


async def flood(sim: Simulation, prefix: int, names: list[str]) -> None:
    """Posts registrations of many keys from one address group, each anew until it is in; none of them ever plays."""
    poster = sim.key(f"poster {prefix}")
    coordinator = sim.coordinator.host.public
    sim.network.hosts[poster.public] = f"8.8.{prefix}.1"
    async with sim.network.open(poster) as transport:
        while True:
            for name in names:
                key = sim.key(name)
                state = sim.state
                if state.registry.find(key.public) is not None:
                    continue
                plain = Registration(sim.run, key.public, name, b"", state.size, state.tree.root(), b"", 0)
                record, _ = stamp.find_stamp(plain, 1, 1)
                try:
                    if coordinator not in transport.peers():
                        await transport.dial(sim.ticket.addresses[0])
                    await call(transport, coordinator, POST_PROTOCOL, Post(record.seal(key).encode(), b"").encode())
                except (CallRefused, TransportError):
                    continue
            await trio.sleep(10)


async def flooded(folder: Path) -> Simulation:
    """200 keys from five address groups, and two honest contributors that come after them."""
    manifest = sim_manifest(registration="stamp", stamp_difficulty=1, probation_slots=4, timeout_entries=30, tick_s=1)
    async with simulated(folder, manifest, "flood", ("ada", "bob")) as sim:
        for node in sim.contributors:
            node.make = uninvited
        sim.start(sim.coordinator, *sim.verifiers)
        await sim.until(lambda: sim.coordinator.member and sim.state.size > 5)
        held: list[int] = []
        async with trio.open_nursery() as nursery:
            names = [f"sybil-{number}" for number in range(SYBILS)]
            for prefix in range(PREFIXES):
                nursery.start_soon(flood, sim, prefix, names[prefix::PREFIXES])
            nursery.start_soon(watch, sim, held)
            await sim.until(lambda: len(sim.state.registry.peers) >= 4)
            sim.start(*sim.contributors)
            await sim.until(lambda: all(is_in(sim, node) for node in sim.contributors))
            nursery.cancel_scope.cancel()
        assert max(held) == 4
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.usefixtures("cheap")
def test_a_flood_of_keys_keeps_nobody_out(tmp_path: Path) -> None:
    sim = virtually(flooded, tmp_path)
    honest = {node.secret.public for node in sim.contributors}
    sybils = [peer for peer in sim.state.registry.peers if peer not in honest]
    assert sybils
    assert all(sim.state.registry.has_lost_slot(peer) or peer in sim.state.slots.holders for peer in sybils)
    assert not any(sim.state.registry.has_lost_slot(peer) for peer in honest)
    # What is replayed in full is of the honest alone, and a flood's keys wait in few places.
    on_probation = {batch.header.peer for batch in sim.state.batches.all if batch.q_ppm == PPM}
    assert on_probation <= honest
    lists = [record for record in sim.entries() if isinstance(record, SlotList)]
    assert 4 < max(len(record.registrations) for record in lists) <= 8 * PREFIXES + len(honest)
