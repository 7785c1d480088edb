"""Ringers in whole networks: honest verifiers find them and nobody is banned; who waves one through is convicted."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from native.network import Kernel
from native.pool import Done, Job
from protocol.proof import Ban
from protocol.ringer import RingerHash, RingerReveal
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


async def through_ringers(folder: Path, count: int, word: str, kills: int = 0, **admission: Any) -> Simulation:
    """A run until so many ringers are revealed and a release is out, its coordinator killed now and then."""
    async with simulated(folder, sim_manifest(ringer_batches=OFTEN, **admission), word) as sim:
        sim.start()
        rng = Random(word)
        for _ in range(kills):
            sim.kill_at_write(sim.coordinator, rng.randint(1, 40))
            await sim.until(lambda: not sim.coordinator.is_alive, 600)
            await trio.sleep(rng.choice((0.0, 0.5, 5.0)))
            await sim.restart(sim.coordinator)
        await sim.until(lambda: revealed(sim) >= count and len(sim.state.releases.all) > 1)
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
        if ringer.game in ringer.batch.verdict.drawn:
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


@pytest.mark.parametrize("word", ["ringers killed", "killed ringers"])
def test_a_coordinator_killed_at_any_step_goes_on_with_its_ringer(tmp_path: Path, word: str) -> None:
    sim = virtually(through_ringers, tmp_path, 3, word, 25)
    verify_ringers(sim)


async def with_lazy_verifier(folder: Path) -> Simulation:
    """Three verifiers, of whom one accepts what it knows to be wrong."""
    async with simulated(folder, sim_manifest(ringer_batches=OFTEN), "lazy", verifiers=3) as sim:
        sim.verifiers[0].engine = LazyEngine()
        sim.start()
        lazy = sim.verifiers[0].secret.public
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
