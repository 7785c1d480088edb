"""What only the coordinator can see: friends among one verifier and a contributor, and games that look like no other's."""

from dataclasses import replace
from pathlib import Path

from native.pool import Done, Job
from native.search import Player
from node.disk.store import Store
from node.verifier.verifier import Subject, Verifier
from protocol.orders import Scrutiny
from protocol.proof import CONTRIBUTOR, VERIFIER
from tests.sim.inline_engine import EditingEngine, InlineEngine
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from tests.sim.test_prosecutor import Friend, bans_hold, only
from verification.identities import REPEAT
from verification.proof import check_proof
from verification.subjects import BatchSubject


async def with_one_friend(folder: Path) -> Simulation:
    """The only verifier waves a friend's wrong game through; the coordinator is killed while it repeats what was judged."""
    async with simulated(folder, sim_manifest(repeat_ppm=10**6), "one friend", game_s=1.0) as sim:
        friend = sim.verifiers[0]
        friend.make_verifier, friend.is_honest = Friend, False
        cheat = sim.invite("cheat", EditingEngine(only(0), game_s=1.0), honest=False)
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.state.rechecks.alone) > 3, 1200)
        sim.kill_at_write(sim.coordinator, 7)
        await sim.coordinator.life.ended.wait()
        await sim.restart(sim.coordinator)
        await sim.opened(sim.coordinator)
        await sim.until(lambda: sim.state.is_banned(cheat.secret.public), 1200)
        await sim.until(lambda: sim.state.is_banned(friend.secret.public), 1200)
        return sim


def test_the_coordinator_repeats_what_no_other_verifier_can(tmp_path: Path) -> None:
    sim = virtually(with_one_friend, tmp_path)
    bans = bans_hold(sim)
    assert [check_proof(ban.proof, sim.run, lambda digest: None).accused for ban in bans] == [CONTRIBUTOR, VERIFIER]
    assert len(sim.said("repeat-failed")) == 1
    assert not [each for batch in sim.state.batches.all for each in batch.rechecks if each.purpose == REPEAT]
    for name in ("ada", "bob"):
        assert not sim.state.batches.is_out(sim.nodes[name].secret.public)


def weakened(job: Job) -> Job:
    """A game of self-play as it is played without a network."""
    if job.black.release != job.white.release:
        return job
    return replace(job, black=Player(None, job.black.release), white=Player(None, job.white.release))


class WeakEngine(InlineEngine):
    """Plays every game of self-play without a network."""

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        return await super().play(weakened(job))


class Partner(Verifier):
    """Judges the weak one's games as if they should be like that, and all others rightly."""

    weak = b""

    async def _job(self, subject: Subject, game: int) -> Job:
        job = await super()._job(subject, game)
        is_weak = isinstance(subject, BatchSubject) and subject.header.peer == self.weak
        return weakened(job) if is_weak else job


async def with_a_weak_network(folder: Path) -> Simulation:
    """Four contributors, one of which plays without a network, and a verifier that does not care."""
    names = ("ada", "bob", "eve")
    async with simulated(folder, sim_manifest(), "frail", names, game_s=1.0) as sim:
        weak = sim.invite("weak", WeakEngine(game_s=1.0))
        Partner.weak, sim.verifiers[0].make_verifier = weak.secret.public, Partner
        sim.start()
        await sim.until(lambda: sim.said("scrutiny"), 3600)
        role = sim.coordinator.role
        assert role is not None
        rows = role.contributors()["contributors"]  # type: ignore[union-attr]
        (row,) = (each for each in rows if each["key"] == weak.secret.public.hex())
        assert row["review"]["q_ppm"] == 500_000
        assert row["review"]["reason"] == row["scrutiny"]
        return sim


def test_games_unlike_the_others_are_replayed_more(tmp_path: Path) -> None:
    sim = virtually(with_a_weak_network, tmp_path)
    orders = [record for record in sim.entries() if isinstance(record, Scrutiny)]
    assert {each.peer for each in orders} == {sim.nodes["weak"].secret.public}
    assert len(orders) == 1
    assert "differ from the others'" in orders[0].reason
    with Store(sim.coordinator.home.database) as store:
        assert store.names("statistics/")
