"""Verifiers that lie are banned by a proof, whom they lied about loses nothing; bans wait while an alarm is on."""

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from native.network import Kernel
from node.audits.proof_networks import fetch_network
from node.disk.blob_store import BlobStore
from node.verifier.verifier import Finding, Subject, Verifier
from protocol.batch import unpack_batch
from protocol.game_block import GameBlock
from protocol.proof import PLY, RULES, SETUP, VERIFIER, Ban, Pardon
from protocol.release import Release
from protocol.verdict import BLOB
from tests.sim.inline_engine import EditingEngine
from tests.sim.manifests import sim_manifest
from tests.sim.simulation import Simulation, simulated, virtually
from tests.verification import edits
from verification.identities import batch_of
from verification.proof import check_proof
from verification.proof_builder import EvidenceFields
from verification.subjects import BatchSubject


class Framer(Verifier):
    """Replays honestly and then rejects every batch of games, with evidence of what is right in it."""

    def __init__(self, lie: EvidenceFields, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lie = lie

    async def _examine(self, subject: Subject) -> Finding | None:
        finding = await super()._examine(subject)
        if finding is not None and isinstance(subject, BatchSubject) and subject.games:
            finding.reason, finding.evidence = "search: it does not please me", self._lie
        return finding


LIES: dict[str, EvidenceFields] = {
    "ply": {"evidence": PLY, "game": 1, "ply": 3},
    "ply that is not there": {"evidence": PLY, "game": 0, "ply": 60000},
    "rules": {"evidence": RULES, "game": 1, "ply": 0},
    "setup": {"evidence": SETUP, "game": 0, "ply": 0},
}
BLOB_LIE: EvidenceFields = {"evidence": BLOB, "game": 0, "ply": 0}


class Silent(Verifier):
    """Rejects as it should, and sends no proof of its own."""

    async def _examine(self, subject: Subject) -> Finding | None:
        finding = await super()._examine(subject)
        if finding is not None:
            finding.proof = b""
        return finding


class Friend(Verifier):
    """Accepts every batch, with traces that fit, whatever is wrong in it."""

    async def _examine(self, subject: Subject) -> Finding | None:
        if not isinstance(subject, BatchSubject):
            return await super()._examine(subject)
        header = subject.header
        blob = await self._member.blobs.fetch(header.blob_digest, self._member.reach.peers, header.blob_len, 60)
        unpack_batch(blob, header.raw_len)
        finding = Finding()
        for game in self._drawn(subject):
            done = await self._engine.play(await self._job(subject, game))
            finding.drawn.append(game)
            finding.digests += done.digests
        return finding


def bans_hold(sim: Simulation) -> list[Ban]:
    """All bans, each with a proof that holds."""
    blobs = BlobStore(sim.coordinator.home.public)
    networks = {each.network: blobs.get(each.network_blob) for each in sim.state.releases.all if each.network_blob}
    bans = [record for record in sim.entries() if isinstance(record, Ban)]
    for ban in bans:
        assert check_proof(ban.proof, sim.run, networks.get, Kernel.SCALAR).subject == ban.subject
    return bans


def accepted(sim: Simulation, name: str) -> int:
    """How many batches of a contributor are accepted."""
    identity = sim.state.batches.identity(sim.nodes[name].secret.public)
    return 0 if identity is None else len(identity.accepted_at)


async def with_a_framer(folder: Path, lie: EvidenceFields) -> Simulation:
    """Three verifiers, one of which frames everybody, until it is out and both contributors went on after it."""
    manifest = sim_manifest(probation_batches=2, hold_back_batches=1)
    async with simulated(folder, manifest, "framer", verifiers=3, game_s=1.0) as sim:
        framer = sim.verifiers[0]
        framer.make_verifier, framer.is_honest = partial(Framer, lie), False
        sim.start()
        key = framer.secret.public
        await sim.until(lambda: sim.coordinator.member and sim.state.is_banned(key), 600)
        before = {name: accepted(sim, name) for name in ("ada", "bob")}
        await sim.until(lambda: all(accepted(sim, name) >= before[name] + 3 for name in before))
        await sim.finish()
        sim.settle()
        return sim


@pytest.mark.parametrize("lie", LIES)
def test_a_framing_verifier_is_banned(tmp_path: Path, lie: str) -> None:
    sim = virtually(with_a_framer, tmp_path, LIES[lie])
    (ban,) = bans_hold(sim)
    assert ban.subject == sim.verifiers[0].secret.public
    assert check_proof(ban.proof, sim.run, lambda digest: None).framed
    assert len(sim.said("verifier-banned")) == 1
    assert not sim.said("ban")
    for name in ("ada", "bob"):
        tally = sim.state.batches.tally(sim.nodes[name].secret.public)
        assert tally.verified == tally.games > 0
    assert sim.state.batches.released


async def with_a_cheat_and_no_proof(folder: Path) -> Simulation:
    """A cheat whom a verdict accuses without a proof; the coordinator is killed before it made its own."""
    async with simulated(folder, sim_manifest(), "silent") as sim:
        sim.verifiers[0].make_verifier = Silent
        cheat = sim.invite("cheat", EditingEngine(edits.value(0)), honest=False)
        sim.start()
        await sim.opened(sim.coordinator)
        sim.coordinator.role.prosecutor.is_ringer = lambda check: True  # type: ignore[union-attr]  # does not come to it
        await sim.until(lambda: sim.state.batches.accusing(), 600)
        assert not sim.state.is_banned(cheat.secret.public)
        sim.kill(sim.coordinator)
        await sim.restart(sim.coordinator)
        await sim.opened(sim.coordinator)
        await sim.until(lambda: sim.state.is_banned(cheat.secret.public), 600)
        await cheat.life.ended.wait()
        await sim.finish()
        sim.settle()
        return sim


def test_the_coordinator_proves_by_itself_what_a_verdict_says(tmp_path: Path) -> None:
    sim = virtually(with_a_cheat_and_no_proof, tmp_path)
    (ban,) = bans_hold(sim)
    assert ban.subject == sim.nodes["cheat"].secret.public


async def with_friends(folder: Path) -> Simulation:
    """Contributors whose first game is wrong, and a verifier that waves it through, until all of them are out."""
    manifest = sim_manifest(repeat_ppm=10**6)
    async with simulated(folder, manifest, "old friends", verifiers=2, game_s=1.0) as sim:
        friend = sim.verifiers[0]
        friend.make_verifier, friend.is_honest = Friend, False
        cheats = [
            sim.invite(f"cheat {number}", EditingEngine(only(0), game_s=1.0), honest=False) for number in range(4)
        ]
        sim.start()
        await sim.until(lambda: sim.coordinator.member and sim.state.is_banned(friend.secret.public), 1200)
        await sim.until(lambda: all(sim.state.is_banned(cheat.secret.public) for cheat in cheats), 1200)
        for cheat in cheats:
            await cheat.life.ended.wait()
        await sim.finish()
        sim.settle()
        return sim


def only(counter: int) -> Any:
    """Edits a value in the game with this counter, and in no other."""

    def change(block: GameBlock) -> bytes:
        return edits.value(0)(block) if block.header.counter == counter else block.raw

    return change


def test_a_verifier_that_accepts_its_friends_wrong_games_is_banned(tmp_path: Path) -> None:
    sim = virtually(with_friends, tmp_path)
    bans = bans_hold(sim)
    assert len(bans) == 5
    proof = next(ban.proof for ban in bans if ban.subject == sim.verifiers[0].secret.public)
    found = check_proof(proof, sim.run, lambda digest: None)
    assert (found.accused, found.framed) == (VERIFIER, False)
    for name in ("ada", "bob"):
        tally = sim.state.batches.tally(sim.nodes[name].secret.public)
        assert tally.verified == tally.games > 0


async def with_an_alarm(folder: Path) -> Simulation:
    """Five contributors on probation fail alike; bans wait until long after the last of them."""
    manifest = sim_manifest(alarm_identities=2, exit_entries=120)
    async with simulated(folder, manifest, "alarm") as sim:
        cheats = [sim.invite(f"cheat {number}", EditingEngine(edits.value(0)), honest=False) for number in range(5)]
        sim.start()
        await sim.until(lambda: sim.said("alarm"), 600)
        await sim.until(lambda: len(sim.state.batches.accusing()) >= 3, 600)
        await sim.until(lambda: all(sim.state.is_banned(cheat.secret.public) for cheat in cheats), 3600)
        await sim.finish()
        sim.settle()
        return sim


def test_an_alarm_pauses_bans(tmp_path: Path) -> None:
    sim = virtually(with_an_alarm, tmp_path)
    assert len(sim.said("alarm")) == 1
    bans_hold(sim)
    before = [event for event in sim.said("ban") if event.at_s < sim.said("alarm")[0].at_s]
    assert len(before) < 5
    assert all(sim.state.batches.tally(sim.nodes[name].secret.public).rejected == 0 for name in ("ada", "bob"))


def once(counter: int) -> Any:
    """Edits a value in the first game with this counter: counters begin anew with every release."""
    edited: list[GameBlock] = []

    def change(block: GameBlock) -> bytes:
        if edited or block.header.counter != counter:
            return block.raw
        edited.append(block)
        return edits.value(0)(block)

    return change


async def with_a_bit_flip(folder: Path) -> Simulation:
    """One contributor whose machine fails once, after it earned a pardon; every game is replayed."""
    manifest = sim_manifest(pardon_plies=100, q_min_ppm=10**6)
    async with simulated(folder, manifest, "bit flip") as sim:
        eve = sim.invite("eve", EditingEngine(once(12)))
        sim.start()
        await sim.until(lambda: sim.coordinator.member and sim.said("pardon"), 1200)
        sim.kill(sim.coordinator)
        await sim.restart(sim.coordinator)
        await sim.opened(sim.coordinator)
        before = accepted(sim, "eve")
        await sim.until(lambda: accepted(sim, "eve") >= before + 3 and sim.state.release.number)
        assert eve.is_alive
        release = next(record for record in sim.entries() if isinstance(record, Release))
        network = await fetch_network(sim.ticket, release, lambda secret, listen: sim.network.open(secret))
        assert sha256(network).digest() == release.network
        await sim.finish()
        sim.settle()
        return sim


def test_a_lone_wrong_ply_is_pardoned(tmp_path: Path) -> None:
    sim = virtually(with_a_bit_flip, tmp_path)
    eve = sim.nodes["eve"].secret.public
    pardons = [record for record in sim.entries() if isinstance(record, Pardon)]
    assert [pardon.subject for pardon in pardons] == [eve]
    assert not sim.state.is_banned(eve)
    assert sim.state.batches.tally(eve).rejected == sim.manifest.admission.games_per_batch
    (wrong,) = (batch for batch in sim.state.batches.all if sim.state.convictions.is_pardoned(batch.index))
    assert batch_of(wrong).released_at is None


async def with_a_blob_framer(folder: Path) -> Simulation:
    """A verifier that rejects every batch for its blob, which no search can prove to be in order."""
    async with simulated(folder, sim_manifest(), "blob framer", verifiers=3, game_s=1.0) as sim:
        framer = sim.verifiers[0]
        framer.make_verifier, framer.is_honest = partial(Framer, BLOB_LIE), False
        sim.start()
        await sim.until(lambda: sim.coordinator.member and len(sim.said("fault")) > 1, 600)
        batches = sim.state.batches.all
        await sim.until(lambda: all(batch.is_accepted_batch for batch in batches))
        status = sim.coordinator.role.status()  # type: ignore[union-attr]
        assert [fault for fault in status.work.faults if "for a blob that is in order" in fault]
        sim.kill(framer)
        batches = sim.state.batches.all
        await sim.until(lambda: all(batch.is_accepted_batch for batch in batches))
        await sim.finish()
        sim.settle()
        return sim


def test_a_blob_that_is_in_order_is_not_rejected(tmp_path: Path) -> None:
    sim = virtually(with_a_blob_framer, tmp_path)
    key = sim.verifiers[0].secret.public
    assert all(key.hex()[:16] in event.text and "in order" in event.text for event in sim.said("fault"))
    assert all(batch.is_accepted_batch for batch in sim.state.batches.all)
    assert all(batch.verdict is not None and batch.verdict.verifier != key for batch in sim.state.batches.all)
    assert not bans_hold(sim)
