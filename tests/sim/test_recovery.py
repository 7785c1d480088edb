"""A stolen key: a thief sends wrong batches with it, its owner replaces it by the recovery key and goes on."""

from functools import partial
from hashlib import sha256
from pathlib import Path

import trio

from node.contributor.contributor import Contributor
from node.contributor.replacing import Replaced, Replacer
from node.events import silent
from node.launch import open_member
from protocol.recovery import KeyReplacement
from protocol.seeds import PPM
from tests.sim.inline_engine import EditingEngine
from tests.sim.manifests import sim_manifest
from tests.sim.nodes import Node
from tests.sim.simulation import START_UNIX_S, Simulation, simulated, virtually
from tests.verification import edits
from verification.identities import BatchInfo
from verification.standing import REPLACED, standings


async def replace(sim: Simulation, node: Node) -> Replaced:
    """What `gonode keys replace` does in a node's folder; the node's next life has the new key."""
    replacer = Replacer(node.home, sim.key("recovery"), None)
    opening = open_member(
        node.home,
        sim.ticket,
        replacer.new,
        lambda secret, listen: sim.network.open(secret),
        silent,
        clock=lambda: START_UNIX_S + trio.current_time(),
        seed=b"replace",
        await_log=False,
    )
    async with opening as member:
        done = await replacer.replace(member, None)
        again = Replacer(node.home, sim.key("recovery"), done.old)
        assert await again.replace(member, None) == done
    node.secret = node.host = replacer.new
    return done


async def robbed(folder: Path) -> tuple[Simulation, Replaced, list[BatchInfo]]:
    """Ada plays and is stopped; a thief plays on with her key, wrongly; she replaces the key and plays on."""
    manifest = sim_manifest(probation_batches=2, hold_back_batches=4)
    async with simulated(folder, manifest, "robbed", ("ada", "bob"), game_s=1.0) as sim:
        ada = sim.nodes["ada"]
        recovery_hash = sha256(sim.key("recovery").public).digest()
        ada.make = partial(_with_recovery, recovery_hash)
        thief = sim.invite("thief", EditingEngine(edits.value(0), game_s=1.0), honest=False)
        thief.secret = ada.secret
        old = ada.secret.public
        sim.start(sim.coordinator, *sim.verifiers, ada, sim.nodes["bob"])
        await sim.until(lambda: sim.coordinator.member and len(accepted(sim, old)) >= 6)
        await sim.stop(ada)
        await sim.until(lambda: all(batch.header.peer != old for batch in sim.state.batches.open))
        size, own = sim.state.size, accepted(sim, old)
        sim.start(thief)
        await sim.until(lambda: theirs(sim, old, size))
        done = await replace(sim, ada)
        assert done.invalid_from == theirs(sim, old, size)[0].index
        sim.start(ada)
        new = ada.secret.public
        await thief.life.ended.wait()
        await sim.until(lambda: len([b for b in accepted(sim, new) if b.header.peer == new]) >= 6)
        await sim.finish()
        sim.settle()
        assert len(theirs(sim, old, size)) == done.batches
        return sim, done, own


def _with_recovery(recovery_hash: bytes, *arguments: object) -> Contributor:
    return Contributor(*arguments, recovery_hash)  # type: ignore[arg-type]


def accepted(sim: Simulation, peer: bytes) -> list[BatchInfo]:
    """The accepted batches of a contributor, under all of its keys."""
    identity = sim.state.batches.identity(peer)
    return [] if identity is None else [b for b in identity.batches if b.is_accepted_batch and not b.dropped]


def theirs(sim: Simulation, peer: bytes, since: int) -> list[BatchInfo]:
    """The batches with a key's signature from an entry on."""
    return [batch for batch in sim.state.batches.all if batch.header.peer == peer and batch.index >= since]


def test_a_stolen_key_is_replaced(tmp_path: Path) -> None:
    sim, done, own = virtually(robbed, tmp_path)
    state, old, new = sim.state, done.old, done.new
    records = [record for record in sim.entries() if isinstance(record, KeyReplacement)]
    assert [(each.peer, each.replacement) for each in records] == [(old, new)]
    assert done.batches > 0
    wrong = [batch for batch in state.batches.all if batch.header.peer == old and batch.index >= done.invalid_from]
    assert all(batch.dropped and batch not in state.batches.released for batch in wrong)
    assert not state.is_banned(new)
    assert not state.batches.is_out(new)
    ours = [batch for batch in accepted(sim, new) if batch.header.peer == new]
    assert ours[0].header.first_counter == 0
    assert {batch.header.registration for batch in ours} == {done.index}
    assert all(batch.q_ppm == PPM for batch in ours[:2])  # on probation anew
    assert any(batch in state.batches.released for batch in ours)
    row = next(row for row in standings(state) if row.peer == new)
    assert (row.name, row.replaces) == ("ada", old)
    assert row.credit_plies == sum(batch.header.plies for batch in (*own, *ours))
    assert next(row.standing for row in standings(state) if row.peer == old) == REPLACED
    assert ["cannot be replaced again" in event.text for event in sim.said("no-recovery", sim.nodes["ada"])] == [True]
    assert ["gonode keys recovery" in event.text for event in sim.said("no-recovery", sim.nodes["bob"])] == [True]
