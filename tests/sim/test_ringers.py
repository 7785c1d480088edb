"""Ringers in whole networks: honest verifiers find them and nobody is banned; who waves one through is convicted."""

from functools import partial
from pathlib import Path
from random import Random
from unittest.mock import patch

from native.network import Kernel
from native.pool import Done, Job
from node.coordinator import ringer_plan
from node.coordinator.examiner import NEXT
from node.coordinator.ringer_plan import Ringer, kept_plan
from node.disk.store import Store
from protocol.codec import decode, encode
from protocol.proof import Ban
from protocol.ringer import RingerHash, RingerReveal
from protocol.seeds import ringer_commitment
from protocol.verdict import ACCEPT, REJECT
from tests.sim.inline_engine import InlineEngine, pool_of
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from verification.identities import Tally

OFTEN = 4


class LazyEngine(InlineEngine):
    """A verifier's engine that has the D of every game, and says of each that it replays as recorded."""

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        done = await super().replay(job, block)
        if not done.is_mismatch:
            return done
        pool = pool_of(Kernel.BEST)
        pool.play(job)
        told = pool.wait(60.0)
        assert told is not None
        return told


def revealed(sim: Simulation) -> int:
    """How many ringers are revealed."""
    return len(sim.state.ringers.all) if sim.coordinator.member else 0


async def through_ringers(folder: Path, count: int, word: str, **admission: int) -> Simulation:
    """A run until so many ringers are revealed and a release is out."""
    async with simulated(folder, sim_manifest(ringer_batches=OFTEN, **admission), word) as sim:
        sim.start()
        await sim.until(lambda: revealed(sim) >= count and len(sim.state.releases.all) > 1)
        await sim.finish()
        sim.settle()
        return sim


def steps(sim: Simulation) -> list[bool]:
    """How far the ringer under way is: registered, planned, committed to, logged, judged, revealed."""
    with Store(sim.coordinator.home.database) as store:
        plan = kept_plan(store)
        match decode(store.get(NEXT) or encode(None)):
            case [int(number), int()]:
                ringer = Ringer(sim.coordinator.secret, sim.run, number)
            case _:
                return [False] * 6
    peer = ringer.key.public
    state = sim.state
    found = [state.registry.find(peer) is not None, plan is not None]
    if plan is None:
        return [*found, False, False, False, state.ringers.find(peer) is not None]
    commitment = ringer_commitment(sim.run, plan.header.digest, plan.game, plan.ply, ringer.salt)
    batch = state.subjects.by_digest.get(plan.header.digest)
    is_judged = batch is not None and batch.verdict is not None
    return [*found, state.ringers.committed_at(commitment) is not None, batch is not None, is_judged, False]


async def killed_at_each_step(folder: Path, word: str) -> Simulation:
    """A run whose coordinator is killed at its next write, and again at one soon after, whenever a ringer is a step on."""
    rng = Random(word)
    async with simulated(folder, sim_manifest(ringer_batches=OFTEN), word) as sim:
        sim.start()
        for step in range(6):
            await sim.until(lambda: sim.coordinator.member and sim.coordinator.is_alive and steps(sim)[step])  # noqa: B023
            for writes in (1, rng.randint(2, 6)):
                sim.kill_at_write(sim.coordinator, writes)
                await sim.until(lambda: not sim.coordinator.is_alive, 600)
                await sim.restart(sim.coordinator)
        await sim.until(lambda: revealed(sim) >= 3 and len(sim.state.releases.all) > 1)
        await sim.finish()
        sim.settle()
        return sim


def verify_ringers(sim: Simulation) -> None:
    """Every revealed ringer was found, and nothing of it counts or trained."""
    state = sim.state
    trained = {batch.index for window in state.windows for batch in window.window.batches}
    for ringer in state.ringers.all:
        peer = ringer.batch.header.peer
        verdict = ringer.batch.verdict
        assert verdict is not None
        if ringer.game in verdict.drawn:
            assert verdict.outcome == REJECT
            assert (verdict.game, verdict.ply) == (ringer.game, ringer.ply)
        assert state.batches.tally(peer) == Tally()
        assert all(batch.dropped for batch in state.batches.all if batch.header.peer == peer)
        assert not trained & {batch.index for batch in state.batches.all if batch.header.peer == peer}
    assert state.convictions.banned == ()
    assert state.batches.total().rejected == 0
    for name in ("ada", "bob"):
        tally = state.batches.tally(sim.nodes[name].secret.public)
        assert tally.verified == tally.games > 0


def test_an_honest_verifier_finds_ringers_and_the_run_goes_on(tmp_path: Path) -> None:
    sim = virtually(through_ringers, tmp_path, 3, "ringers")
    verify_ringers(sim)
    assert not sim.said("fault")
    ringer = sim.state.ringers.all[0].batch.header
    like = [batch.header for batch in sim.state.batches.all if sim.state.ringers.find(batch.header.peer) is None]
    assert (ringer.build, ringer.kernel, ringer.cpu) in {(each.build, each.kernel, each.cpu) for each in like}
    entries = sim.entries()
    assert sum(isinstance(each, RingerReveal) for each in entries) < sum(
        isinstance(each, RingerHash) for each in entries
    )


def test_ringers_that_age_first_leave_nothing_behind(tmp_path: Path) -> None:
    scenario = partial(through_ringers, probation_batches=1, hold_back_batches=2)
    with patch.object(ringer_plan, "AGED_SHARE", 1):
        sim = virtually(scenario, tmp_path, 3, "aged")
    verify_ringers(sim)
    for ringer in sim.state.ringers.all:
        own = [each for each in sim.state.batches.all if each.header.peer == ringer.batch.header.peer and each.games]
        assert 2 <= len(own) <= 3
        assert own[-1] is ringer.batch
        assert all(each.is_accepted_batch and each.released_at is None for each in own[:-1])


def test_a_coordinator_killed_at_each_step_goes_on_with_its_ringer(tmp_path: Path) -> None:
    sim = virtually(killed_at_each_step, tmp_path, "ringers killed")
    verify_ringers(sim)
    peers = [ringer.batch.header.peer for ringer in sim.state.ringers.all]
    made = [Ringer(sim.coordinator.secret, sim.run, number).key.public for number in range(len(peers))]
    assert peers == made


async def with_lazy_verifier(folder: Path) -> Simulation:
    """Three verifiers, of whom one accepts what it knows to be wrong."""
    async with simulated(folder, sim_manifest(ringer_batches=OFTEN), "lazy", verifiers=3) as sim:
        sim.verifiers[0].engine = LazyEngine()
        sim.start()
        lazy = sim.verifiers[0].secret.public
        sim.verifiers[0].is_honest = False
        await sim.until(lambda: sim.coordinator.member and sim.state.is_banned(lazy))
        size, number = sim.state.size, len(sim.state.releases.all)
        await sim.until(lambda: sim.state.size > size + 100 and len(sim.state.releases.all) > number)
        await sim.finish()
        sim.settle()
        return sim


def test_a_verifier_that_waves_a_ringer_through_is_banned_for_its_first(tmp_path: Path) -> None:
    sim = virtually(with_lazy_verifier, tmp_path)
    state, lazy = sim.state, sim.verifiers[0].secret.public
    assert state.convictions.banned == (lazy,)
    accepted = [
        ringer
        for ringer in state.ringers.all
        for look in ringer.batch.looks
        if look.verdict is not None and look.verdict.verifier == lazy and look.verdict.outcome == ACCEPT
    ]
    assert len(accepted) == 1
    assert sum(isinstance(each, Ban) for each in sim.entries()) == 1
