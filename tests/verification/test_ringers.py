"""Ringers: what may be revealed and when, what becomes of a revealed key, and who missed the wrong game."""

from dataclasses import replace

import pytest

from protocol.admission import ACCEPTED, Admission
from protocol.batch import encode_batch, parse_batch
from protocol.proof import Ban, Pardon
from protocol.recovery import KeyReplacement
from protocol.ringer import RingerHash, RingerReveal
from protocol.seeds import ringer_commitment
from tests.verification import edits, replaced
from tests.verification.manifests import digest_of
from tests.verification.memory_reader import MemoryReader
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, snapshot
from tests.verification.verdicts import accept, accepted, accuse, rebuilt
from tests.verification.world import World
from verification.audit.audit import Check, audit
from verification.identities import BatchInfo, Tally
from verification.proof_builder import Evidence, build_proof

SALT = digest_of("salt")
GAME, INDEX = 1, 2


def commit(world: World, digest: bytes, game: int, ply: int, salt: bytes = SALT) -> None:
    """Logs a commitment."""
    world.log(RingerHash(world.run, ringer_commitment(world.run, digest, game, ply, salt)), world.coordinator)


def ringer(world: World, name: str = "ringer") -> tuple[BatchInfo, int]:
    """The logged batch of a ringer's key and its wrong ply, both committed to; nobody has judged it."""
    key = world.peers.get(name) or world.register(name)
    blocks = edits.of_game(GAME, edits.value(INDEX))(world.games(key, world.manifest.admission.games_per_batch))
    header = world.header(key, blocks)
    digest = header.seal(key).digest
    ply = parse_batch(encode_batch(blocks)).games[GAME].plies[INDEX]
    commit(world, digest, GAME, ply)
    index = world.log(header, key)
    world.share_set()
    batch = world.state.batch(index)
    assert batch is not None
    assert batch.digest == digest
    return batch, ply


def opened(world: World, batch: BatchInfo, ply: int) -> RingerReveal:
    """The reveal of a ringer."""
    return RingerReveal(world.run, batch.index, GAME, ply, SALT)


def proof_of(world: World, batch: BatchInfo, ply: int, against_verifier: bool = False) -> bytes:
    """A proof of the ringer's wrong ply."""
    evidence = Evidence("ply", GAME, ply)
    return build_proof(world.state, world.entry, world.note(), batch, world.content(batch), evidence, against_verifier)


@pytest.fixture
def caught(world: World) -> tuple[World, BatchInfo, int]:
    """A ringer whose verdict, by an honest verifier, names the wrong ply."""
    batch, ply = ringer(world)
    rejected = world.judge(batch)
    assert rejected is not None
    assert (rejected.game, rejected.ply) == (GAME, ply)
    return world, batch, ply


def test_a_caught_ringer_is_over_and_nobody_is_banned(caught: tuple[World, BatchInfo, int]) -> None:
    world, batch, ply = caught
    peer = batch.header.peer
    assert world.state.batches.is_suspended(peer)
    at = world.log(opened(world, batch, ply), world.coordinator)
    found = world.state.ringers.find(peer)
    assert found is not None
    assert (found.batch, found.game, found.ply, found.revealed_at) == (batch, GAME, ply, at)
    assert batch.dropped
    assert world.state.due_decisions() == []
    assert world.state.batches.accusing() == []
    assert not world.state.batches.is_suspended(peer)
    assert world.state.batches.is_out(peer)
    assert world.state.batches.tally(peer) == Tally()
    assert world.state.convictions.banned == ()
    assert world.state.convictions.is_shown(batch.index)
    assert not world.state.convictions.pardons
    assert world.state.ringers.missed() == []
    assert peer not in world.state.active_players()
    assert "rejected batch" in refused(
        world, world.header(world.peers["ringer"], world.games(world.peers["ringer"], 2)), world.peers["ringer"]
    )
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_what_was_wrong_on_purpose_is_no_crime(caught: tuple[World, BatchInfo, int]) -> None:
    world, batch, ply = caught
    world.log(opened(world, batch, ply), world.coordinator)
    proof = proof_of(world, batch, ply)
    assert "on purpose" in refused(world, Ban(world.run, batch.header.peer, proof), world.coordinator)
    assert "decided already" in refused(world, Pardon(world.run, batch.header.peer, proof), world.coordinator)


def test_all_batches_of_a_ringer_leave_the_windows() -> None:
    world = World(policy(games_per_batch=2, probation_batches=1, hold_back_batches=1))
    world.register("ada")
    honest = [world.batch(world.peers["ada"]) for _ in range(2)]
    key = world.register("ringer")
    aged = [world.batch(key) for _ in range(3)]
    assert [batch for batch in world.state.batches.released if batch in aged] == aged[:2]
    batch, ply = ringer(world)
    accept(world, batch)
    if batch.second is not None:
        accept(world, batch.second)
    world.log(opened(world, batch, ply), world.coordinator)
    assert world.state.batches.released == tuple(honest[:1])
    assert world.state.released_rows == honest[0].header.plies
    assert all(each.dropped for each in aged)
    assert world.state.batches.tally(key.public) == Tally()
    assert world.state.batches.total() == world.state.batches.tally(world.peers["ada"].public)
    assert world.state.due_decisions() == []


def test_an_accepting_verdict_that_drew_the_wrong_game_is_a_proof_against_its_verifier(world: World) -> None:
    batch, ply = ringer(world)
    accept(world, batch)
    assert batch.verdict is not None
    world.log(opened(world, batch, ply), world.coordinator)
    assert world.state.ringers.missed() == [batch]
    proof = proof_of(world, batch, ply, against_verifier=True)
    world.log(Ban(world.run, batch.verdict.verifier, proof), world.coordinator)
    assert world.state.ringers.missed() == []
    assert world.state.convictions.is_banned(world.verifiers[0].public)


def test_a_verifier_that_did_not_draw_the_wrong_game_missed_nothing() -> None:
    world = World(policy(games_per_batch=2, probation_batches=1, hold_back_batches=1, q_min_ppm=50_000))
    key = world.register("ringer")
    for _ in range(20):
        accepted(world, "ringer")
    while True:
        batch, ply = ringer(world)
        verifier = world.verifiers[0]
        drawn = batch.draw(world.secret(verifier, batch.candidates[verifier.public]))
        if GAME not in drawn:
            break
        accept(world, batch)
        world.admit()
    accept(world, batch)
    world.log(opened(world, batch, ply), world.coordinator)
    assert world.state.ringers.find(key.public) is not None
    assert world.state.ringers.missed() == []


def test_a_reveal_waits_for_all_verdicts() -> None:
    world = World(policy(games_per_batch=2, probation_batches=1, hold_back_batches=0, timeout_entries=6), verifiers=3)
    for number in range(200):
        batch, ply = ringer(world, f"ringer-{number}")
        reveal = opened(world, batch, ply)
        assert "still has to judge" in refused(world, reveal, world.coordinator)
        if batch.second is not None:
            break
    accuse(world, batch, GAME, INDEX)
    assert "still has to judge" in refused(world, reveal, world.coordinator)
    lapsed = World(policy(games_per_batch=2, probation_batches=1, hold_back_batches=0, timeout_entries=6), verifiers=3)
    for entry in world.entries[lapsed.state.size :]:
        lapsed.log_bytes(entry)
    assert batch.second is not None
    accuse(world, batch.second, GAME, INDEX)
    world.log(reveal, world.coordinator)
    assert world.state.ringers.all
    lapsed.ticks(batch.index + 13 - lapsed.state.size)
    lapsed.log(reveal, lapsed.coordinator)
    assert lapsed.state.ringers.all


def test_hostile_reveals(caught: tuple[World, BatchInfo, int]) -> None:
    world, batch, ply = caught
    right = opened(world, batch, ply)
    for wrong in (
        replace(right, salt=digest_of("another salt")),
        replace(right, game=0),
        replace(right, ply=ply + 1),
    ):
        assert "No commitment" in refused(world, wrong, world.coordinator)
    assert "no such game" in refused(world, replace(right, game=7), world.coordinator)
    assert "No batch is logged" in refused(world, replace(right, index=2), world.coordinator)
    assert "not signed by" in refused(world, right, world.peers["ringer"])
    world.log(right, world.coordinator)
    assert "revealed already" in refused(world, right, world.coordinator)


def test_a_friends_caught_batch_is_no_ringer_afterwards(world: World) -> None:
    friend = world.register("friend")
    batch = world.play(friend, edit=edits.of_game(GAME, edits.value(INDEX)))
    ply = world.content(batch).games[GAME].plies[INDEX]
    world.judge(batch)
    commit(world, batch.digest, GAME, ply)
    assert "from before entry" in refused(world, opened(world, batch, ply), world.coordinator)
    world.admit()
    assert world.state.is_banned(friend.public)


def test_hostile_commitments(world: World) -> None:
    record = RingerHash(world.run, digest_of("commitment"))
    assert "not signed by" in refused(world, record, world.peers["ada"])
    world.log(record, world.coordinator)
    assert "logged already" in refused(world, record, world.coordinator)
    assert world.state.ringers.committed == 1


def test_a_ringer_does_not_count_for_the_alarm() -> None:
    world = World(policy(games_per_batch=2, probation_batches=1, hold_back_batches=1, alarm_identities=2))
    for name in ("one", "two", "three"):
        batch, ply = ringer(world, name)
        world.judge(batch)
        world.log(opened(world, batch, ply), world.coordinator)
        assert world.state.convictions.alarm.reasons(world.state.size) == ()


def test_what_is_decided_may_still_be_revealed(world: World) -> None:
    batch, ply = ringer(world)
    accept(world, batch)
    decision = world.state.due_decisions()[0].decision
    assert decision.outcome == ACCEPTED
    world.log(Admission(world.run, (decision,)), world.coordinator)
    world.log(opened(world, batch, ply), world.coordinator)
    assert batch.dropped
    assert world.state.batches.tally(batch.header.peer) == Tally()


def audited(world: World) -> Check:
    """The audit's answer about the head."""
    return audit(MemoryReader(world.public())).checks[0]


def test_an_audit_replays_what_a_reveal_names(caught: tuple[World, BatchInfo, int]) -> None:
    world, batch, ply = caught
    assert "Ringers revealed: 0 of 1" in audited(world).detail
    world.log(opened(world, batch, ply), world.coordinator)
    check = audited(world)
    assert check.ok, check.detail
    assert "Ringers revealed: 1 of 1 committed to." in check.detail


def test_an_audit_finds_a_reveal_of_a_right_ply(world: World) -> None:
    key = world.register("ringer")
    blocks = world.games(key, 2)
    header = world.header(key, blocks)
    ply = parse_batch(encode_batch(blocks)).games[GAME].plies[INDEX]
    commit(world, header.seal(key).digest, GAME, ply)
    batch = world.state.batch(world.log(header, key))
    assert batch is not None
    world.share_set()
    world.judge(batch)
    world.log(opened(world, batch, ply), world.coordinator)
    check = audited(world)
    assert not check.ok
    assert "is not wrong where its reveal says" in check.detail


def test_an_audit_finds_a_reveal_of_no_ply(world: World) -> None:
    key = world.register("ringer")
    header = world.header(key, world.games(key, 2))
    commit(world, header.seal(key).digest, GAME, 9999)
    batch = world.state.batch(world.log(header, key))
    assert batch is not None
    world.share_set()
    world.judge(batch)
    world.log(opened(world, batch, 9999), world.coordinator)
    check = audited(world)
    assert not check.ok
    assert "has no searched ply 9999" in check.detail


def test_a_ringers_key_is_not_replaced(world: World) -> None:
    world.peers["ringer"] = replaced.register(world, "ringer")
    batch, ply = ringer(world)
    world.judge(batch)
    world.log(opened(world, batch, ply), world.coordinator)
    recovery, fresh = world.key("recovery ringer"), world.key("fresh")
    record = KeyReplacement(world.run, batch.header.peer, recovery.public, fresh.public, batch.index)
    assert "was a ringer's" in refused(world, record, recovery, fresh)
