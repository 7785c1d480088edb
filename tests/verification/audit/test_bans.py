"""An audit believes no ban and no pardon without a proof that holds, in this log."""

from protocol.errors import BadProof
from protocol.game_block import GameBlock
from protocol.proof import PLY, SETUP, Ban, Pardon
from protocol.registration import Registration
from tests.verification import edits
from tests.verification.audit.test_audit import audited, failures
from tests.verification.test_batches import policy
from tests.verification.test_framing import lie, searched
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.identities import BatchInfo
from verification.proof import check_proof
from verification.proof_builder import Evidence, build_proof


def proof_about(world: World, batch: BatchInfo, game: int, ply: int) -> bytes:
    evidence = Evidence(PLY, game, ply)
    return build_proof(world.state, world.entry, world.note(), batch, world.content(batch), evidence)


def earned(is_wrong: bool) -> tuple[World, BatchInfo]:
    """A contributor that earned a pardon, and a verdict against its next batch, which is wrong or not."""
    world = World(policy(pardon_plies=20))
    ada = world.register("ada")
    world.batch(ada)
    batch = world.play(ada, edit=edits.of_game(1, edits.value(6)) if is_wrong else None)
    lie(world, batch, PLY, 1, ply(world, batch))
    return world, batch


def ply(world: World, batch: BatchInfo) -> int:
    return world.content(batch).games[1].plies[6]


def test_a_pardon_that_is_proved() -> None:
    world, batch = earned(is_wrong=True)
    proof = proof_about(world, batch, 1, ply(world, batch))
    world.log(Pardon(world.run, batch.header.peer, proof), world.coordinator)
    report = audited(world.public())
    assert failures(report) == {}
    assert "Wrong plies pardoned, each proved: 1" in report.checks[0].detail


def test_a_pardon_of_what_is_right() -> None:
    world, batch = earned(is_wrong=False)
    proof = proof_about(world, batch, 1, ply(world, batch))
    index = world.log(Pardon(world.run, batch.header.peer, proof), world.coordinator)
    assert f"The pardon at entry {index} is not proved" in failures(audited(world.public()))["head"]


def test_a_verifier_banned_for_framing() -> None:
    world = World(verifiers=2)
    batch = world.play(world.register("ada"))
    framer = batch.assigned
    assert framer is not None
    proof = lie(world, batch, PLY, 0, searched(world, batch, 0))
    world.log(Ban(world.run, framer, proof), world.coordinator)
    report = audited(world.public())
    assert failures(report) == {}
    assert "banned by a proof that holds: 1" in report.checks[0].detail


def test_a_proof_that_rests_on_another_log() -> None:
    """Who has the keys of coordinator and verifiers can sign a second log, in which a registration has another beacon, so
    that an honest header's games are not what their seeds give. The log that the header is in takes no ban for that."""
    world, other = World(), World()
    ada = world.key("ada")
    for each in (world, other):
        size = each.state.size
        each.log(
            Registration(each.run, ada.public, "ada", b"", size, each.state.tree.root(), each.invite("ada"), 0), ada
        )
    world.share_set()
    world.ticks(1)
    other.ticks(1)
    other.share_set()
    blocks = world.games(ada, 2)
    entry = world.header(ada, blocks).seal(ada).encode()
    index = world.log_bytes(entry)
    assert other.log_bytes(entry) == index
    other.blobs = world.blobs
    batch = other.state.batch(index)
    assert batch is not None
    held = []
    for evidence in (Evidence(SETUP, 0), Evidence(PLY, 0, GameBlock.parse(blocks[0]).plies[0])):
        proof = build_proof(other.state, other.entry, other.note(), batch, other.content(batch), evidence)
        try:
            held.append(check_proof(proof, world.run, world.networks.get).subject)
        except BadProof:
            continue
        assert "an entry that is not in this log" in refused(
            world, Ban(world.run, ada.public, proof), world.coordinator
        )
        other.state.check(Ban(other.run, ada.public, proof).seal(other.coordinator).encode())
    assert held == [ada.public]
