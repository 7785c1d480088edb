"""Fraud proofs: each kind of wrong game is proved in under a second, and an honest one cannot be framed."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from time import perf_counter

import pytest

from native.network import Kernel
from native.pool import Pool
from protocol.batch import Batch, ply_path, unpack_batch
from protocol.envelope import Envelope
from protocol.epoch import ShareSet
from protocol.errors import BadProof, ProtocolError
from protocol.game_block import GameBlock
from protocol.proof import CONTRIBUTOR, PLY, RULES, SETUP, VERIFIER, Ban, FraudProof, LoggedEntry
from protocol.verdict import ACCEPT, Verdict
from tests.verification import edits
from tests.verification.judged_run import replay_games
from tests.verification.test_admission import CHEAP, REPLAYED
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.admission import check_batch
from verification.faults import LogFault
from verification.identities import BatchInfo
from verification.proof import Finding, NetworkMissing, check_proof
from verification.proof_builder import Evidence, build_proof, evidence_of
from verification.setup import selfplay_job


def content_of(world: World, batch: BatchInfo) -> Batch:
    return unpack_batch(world.blobs[batch.header.blob_digest], 2**23)


def proof_of(world: World, batch: BatchInfo, evidence: Evidence, against_verifier: bool = False) -> bytes:
    return build_proof(
        world.state, world.entry, world.note(), batch, content_of(world, batch), evidence, against_verifier
    )


def check(world: World, proof: bytes, kernel: Kernel = Kernel.SCALAR) -> Finding:
    return check_proof(proof, world.run, world.networks.get, kernel)


@pytest.mark.parametrize("label", [label for label in (*CHEAP, *REPLAYED) if label != "counter"])
def test_every_wrong_game_is_proved(world: World, label: str) -> None:
    ada = world.peers["ada"]
    batch = world.play(ada, edit=edits.of_game(1, (CHEAP | REPLAYED)[label]))
    rejected = world.judge(batch)
    assert rejected is not None
    evidence = evidence_of(rejected)
    assert evidence is not None
    proof = proof_of(world, batch, evidence)
    start = perf_counter()
    found = check(world, proof)
    assert perf_counter() - start < 1
    assert found.subject == ada.public
    assert (found.accused, found.kind, found.game) == (CONTRIBUTOR, evidence.kind, 1)
    assert found.ply == evidence.ply
    world.log(Ban(world.run, ada.public, proof), world.coordinator)
    assert world.state.is_banned(ada.public)
    header = world.header(ada, world.games(ada, 2))
    assert "banned" in refused(world, header, ada)


def test_a_wrong_counter_is_proved(world: World) -> None:
    def relabel(blocks: list[bytes]) -> list[bytes]:
        return [edits.header(counter=7 + n)(GameBlock.parse(block)) for n, block in enumerate(blocks)]

    batch = world.play(world.peers["ada"], edit=relabel)
    rejected = world.judge(batch)
    assert rejected is not None
    evidence = evidence_of(rejected)
    assert evidence is not None
    assert check(world, proof_of(world, batch, evidence)).kind == SETUP


def test_a_proof_against_a_release_that_was_gated() -> None:
    world = World()
    ada = world.register("ada")
    world.cycle()
    batch = world.play(ada, edit=edits.of_game(0, edits.value(1)))
    assert batch.header.release == world.state.release.id
    proof = proof_of(world, batch, Evidence(PLY, 0, GameBlock.parse(content_of(world, batch).games[0].raw).plies[1]))
    assert check(world, proof).subject == ada.public
    with pytest.raises(NetworkMissing, match=world.state.release.network.hex()):
        check_proof(proof, world.run, lambda digest: None)
    other = world.networks[world.state.releases.all[0].network]
    with pytest.raises(BadProof, match="not the one that the release names"):
        check_proof(proof, world.run, lambda digest: other)


def test_a_verifier_that_accepts_a_wrong_drawn_game_is_convicted(world: World) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.value(6)))
    verifier = world.verifiers[0]
    verdict = Verdict(
        run=world.run,
        subject=batch.digest,
        index=batch.index,
        epoch=0,
        verifier=verifier.public,
        semantics=batch.semantics,
        drawn=(0, 1),
        outcome=ACCEPT,
        evidence="",
        game=0,
        ply=0,
        reason="",
        work=bytes(32),
    )
    world.log(verdict, verifier)
    ply = content_of(world, batch).games[1].plies[6]
    proof = proof_of(world, batch, Evidence(PLY, 1, ply), against_verifier=True)
    found = check(world, proof)
    assert found.subject == verifier.public
    assert found.accused == VERIFIER
    world.log(Ban(world.run, verifier.public, proof), world.coordinator)
    ada = world.peers["ada"]
    header = world.header(ada, world.games(ada, 2))
    assert "No verifier takes batches now" in refused(world, header, ada)


def test_the_same_proof_convicts_nobody_else(world: World) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.value(6)))
    ply = content_of(world, batch).games[1].plies[6]
    proof = proof_of(world, batch, Evidence(PLY, 1, ply))
    bob = world.register("bob")
    assert "against somebody else" in refused(world, Ban(world.run, bob.public, proof), world.coordinator)
    assert "proof is wrong" in refused(world, Ban(world.run, bob.public, b"\x80"), world.coordinator)
    with pytest.raises(BadProof, match="another run"):
        check_proof(proof, bytes(32), world.networks.get)


# ---- framing an honest contributor


@pytest.fixture(scope="module")
def honest() -> tuple[World, BatchInfo]:
    """An honest batch, accepted, with share sets and other peers before and after its peer's registration."""
    for word in "abcdefghijklmnopqrstuvwxyz":
        world = World(word=word)
        world.register("zoe")
        ada = world.register("ada")
        world.register("bob")
        batch = world.batch(ada)
        assert batch.is_accepted_batch
        if all(len(game.plies) > 9 and not game.header.opening for game in content_of(world, batch).games):
            return world, batch
    raise AssertionError("no world has games that are long enough")


@pytest.mark.parametrize("evidence", [Evidence(PLY, 1, 3), Evidence(RULES, 1), Evidence(SETUP, 1)])
def test_an_honest_game_gives_no_proof(honest: tuple[World, BatchInfo], evidence: Evidence) -> None:
    world, batch = honest
    with pytest.raises(BadProof):
        check(world, proof_of(world, batch, evidence))


def logged(world: World, index: int) -> LoggedEntry:
    return LoggedEntry(world.entry(index), index, world.state.tree.inclusion_proof(index))


def framed_plies(world: World, batch: BatchInfo) -> dict[str, Callable[[FraudProof], FraudProof]]:
    """Ways to make an honest ply look wrong."""
    sets = [n for n, entry in enumerate(world.entries) if b"share-set.v1" in entry]
    registrations = [world.state.registration(key.public) for key in world.peers.values()]
    game = content_of(world, batch).games[1]
    other = content_of(world, batch).games[0]
    record = bytearray(game.record(3))
    record[-1] ^= 1
    forged = Envelope.parse(world.entry(sets[-1]))
    lie = replace(ShareSet.open(forged), previous_size=0).seal(world.coordinator)
    return {
        "an earlier share set": lambda p: replace(p, shares=logged(world, sets[0])),
        "a later share set": lambda p: replace(p, shares=logged(world, sets[-1])),
        "an unlogged share set": lambda p: replace(p, shares=replace(logged(world, sets[-1]), entry=lie.encode())),
        "another peer's registration": lambda p: replace(p, registration=logged(world, registrations[0].index)),  # type: ignore[union-attr]
        "an entry that is no registration": lambda p: replace(p, registration=logged(world, 3)),
        "an edited record": lambda p: replace(p, ply=bytes(record)),
        "another game's record": lambda p: replace(p, ply=other.record(3), ply_path=ply_path(other, 3)),
        "another ply's record": lambda p: replace(p, ply=game.record(4), ply_path=ply_path(game, 4)),
        "another ply index": lambda p: replace(p, ply_index=4),
        "another game's number": lambda p: replace(p, game_index=0),
        "a game number out of range": lambda p: replace(p, game_index=2),
        "an edited game": lambda p: replace(p, game=p.game[:30] + bytes([p.game[30] ^ 1]) + p.game[31:]),
        "another release": lambda p: replace(p, release=world.state.manifest.encode()),
        "another kind": lambda p: replace(p, kind=RULES),
        "an accusation of the verifier": lambda p: replace(p, accused=VERIFIER),
        "a verdict for nothing": lambda p: replace(p, verdict=(logged(world, batch.verdict_index),)),
        "the verifier's honest accept": lambda p: replace(
            p, accused=VERIFIER, verdict=(logged(world, batch.verdict_index),)
        ),
    }


NAMES = (
    "an earlier share set",
    "a later share set",
    "an unlogged share set",
    "another peer's registration",
    "an entry that is no registration",
    "an edited record",
    "another game's record",
    "another ply's record",
    "another ply index",
    "another game's number",
    "a game number out of range",
    "an edited game",
    "another release",
    "another kind",
    "an accusation of the verifier",
    "a verdict for nothing",
    "the verifier's honest accept",
)


@pytest.mark.parametrize("name", NAMES)
def test_framing_fails(honest: tuple[World, BatchInfo], name: str) -> None:
    world, batch = honest
    frames = framed_plies(world, batch)
    assert set(frames) == set(NAMES)
    proof = FraudProof.parse(proof_of(world, batch, Evidence(PLY, 1, 3)))
    with pytest.raises(ProtocolError):
        check(world, frames[name](proof).encode())


def test_a_world_of_the_accusers_own_is_another_run(honest: tuple[World, BatchInfo]) -> None:
    """A forger may sign a whole log, but its run id tells."""
    world, _ = honest
    forger = World(word="forger")
    ada = forger.register("ada")
    batch = forger.play(ada, edit=edits.of_game(1, edits.value(0)))
    ply = content_of(forger, batch).games[1].plies[0]
    proof = proof_of(forger, batch, Evidence(PLY, 1, ply))
    assert check(forger, proof).subject == ada.public
    with pytest.raises(BadProof, match="another run"):
        check(world, proof)


def test_a_checkpoint_needs_its_witnesses(world: World) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.value(6)))
    evidence = Evidence(PLY, 1, content_of(world, batch).games[1].plies[6])
    proof = FraudProof.parse(proof_of(world, batch, evidence))
    lines = proof.checkpoint.decode().split("\n")
    alone = "\n".join([*lines[:-2], ""]).encode()
    with pytest.raises(ProtocolError, match="cosigned by 0"):
        check(world, replace(proof, checkpoint=alone).encode())


def test_single_byte_changes_never_hold_for_another(world: World) -> None:
    """A changed proof is refused, or convicts the same key of the same thing."""
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.value(6)))
    ply = content_of(world, batch).games[1].plies[6]
    proof = proof_of(world, batch, Evidence(PLY, 1, ply))
    rng = Random(11)
    for _ in range(120):
        at = rng.randrange(len(proof))
        changed = proof[:at] + bytes([proof[at] ^ (1 << rng.randrange(8))]) + proof[at + 1 :]
        try:
            found = check(world, changed)
        except ProtocolError:
            continue
        assert found.subject == world.peers["ada"].public


def test_a_ban_takes_what_was_released_out_of_later_windows() -> None:
    world = World()
    ada, bob = world.register("ada"), world.register("bob")
    while len({batch.header.peer for batch in world.state.batches.released}) < 2:
        world.batch(ada)
        world.batch(bob)
    released = world.state.batches.released
    assert list(released) == sorted(released, key=lambda batch: batch.index)
    assert world.state.released_rows == sum(batch.header.plies for batch in released)
    wrong = world.play(bob, edit=edits.of_game(1, edits.value(6)))
    proof = proof_of(world, wrong, Evidence(PLY, 1, content_of(world, wrong).games[1].plies[6]))
    world.log(Ban(world.run, bob.public, proof), world.coordinator)
    assert world.state.batches.released == tuple(batch for batch in released if batch.header.peer == ada.public)
    assert world.state.released_rows == sum(batch.header.plies for batch in world.state.batches.released)


def test_a_builder_needs_a_checkpoint_that_covers_the_batch(world: World) -> None:
    note = world.note()
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.value(6)))
    with pytest.raises(LogFault, match="does not cover"):
        build_proof(world.state, world.entry, note, batch, content_of(world, batch), Evidence(RULES, 1))


def test_replay_of_the_honest_batch_finds_nothing(honest: tuple[World, BatchInfo]) -> None:
    world, batch = honest
    content = check_batch(world.state, batch, world.blobs[batch.header.blob_digest])
    player = world.player(world.state.release)
    jobs = [selfplay_job(world.state, world.state.release, batch.header.peer, n, player) for n in range(2)]
    with Pool(1, Kernel.SCALAR) as pool:
        found = replay_games(pool, (0, 1), jobs, content.games)
    assert found.mismatch is None
    assert len(found.digests) == batch.header.plies
