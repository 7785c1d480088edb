"""Proofs against verifiers that call wrong what is right: they hold then, and in no other case."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from time import perf_counter

import pytest

from native.network import Kernel
from protocol.envelope import Envelope
from protocol.errors import BadProof, ProtocolError
from protocol.game_block import GameBlock
from protocol.merkle import leaf_hash
from protocol.proof import CONTRIBUTOR, PLY, RULES, SETUP, VERIFIER, Ban, FraudProof, LoggedEntry
from protocol.seeds import work
from protocol.verdict import ACCEPT, BLOB, REJECT, Verdict
from tests.verification import edits
from tests.verification.test_admission import CHEAP, REPLAYED
from tests.verification.test_state import refused
from tests.verification.world import World
from verification.identities import REPEAT, BatchInfo
from verification.proof import Finding, check_proof
from verification.proof_builder import Evidence, build_proof
from verification.subjects import BatchSubject

BEYOND = 60000


def check(world: World, proof: bytes) -> Finding:
    return check_proof(proof, world.run, world.networks.get, Kernel.SCALAR)


def verdict_on(world: World, subject: BatchSubject, kind: str, game: int, ply: int = 0) -> Verdict:
    """A verdict of the assigned verifier that rejects everything for one thing."""
    verifier = world.verifier_key(subject.assigned)
    return Verdict(
        run=world.run,
        subject=subject.digest,
        index=subject.index,
        epoch=subject.candidates[verifier.public],
        verifier=verifier.public,
        semantics=subject.semantics,
        drawn=() if kind == BLOB else (0, 1),
        outcome=REJECT,
        evidence=kind,
        game=game,
        ply=ply,
        reason="it does not please me",
        work=work(world.run, verifier.public, subject.digest, ()),
    )


def lie(world: World, subject: BatchSubject, kind: str, game: int, ply: int = 0) -> bytes:
    """Logs such a verdict; the proof that it is one."""
    verdict = verdict_on(world, subject, kind, game, ply)
    world.log(verdict, world.verifier_key(verdict.verifier))
    return world.accusation(subject, against_verifier=True)


def searched(world: World, batch: BatchInfo, game: int) -> int:
    """The third searched ply of a game."""
    return world.content(batch).games[game].plies[2]


# ---- what holds


@pytest.mark.parametrize("kind", [PLY, RULES, SETUP, "beyond"])
def test_a_verifier_that_frames_is_convicted(kind: str) -> None:
    world = World(verifiers=3)
    ada = world.register("ada")
    batch = world.play(ada)
    ply = {PLY: searched(world, batch, 1), "beyond": BEYOND}.get(kind, 0)
    framer = batch.assigned
    proof = lie(world, batch, kind if kind in (RULES, SETUP) else PLY, 1, ply)
    assert world.state.batches.is_suspended(ada.public)
    start = perf_counter()
    found = check(world, proof)
    assert perf_counter() - start < 1
    assert (found.subject, found.accused, found.framed) == (framer, VERIFIER, True)
    assert (found.entry, found.game) == (batch.index, 1)
    assert "which is right" in found.sentence
    assert framer is not None
    world.log(Ban(world.run, framer, proof), world.coordinator)
    # The verdict falls away, another verifier judges, and whom it was about goes on.
    assert batch.verdict is None
    assert batch.assigned not in (None, framer)
    assert not world.state.batches.is_suspended(ada.public)
    world.judge(batch)
    world.admit()
    assert batch.is_accepted_batch
    assert world.batch(ada).is_accepted_batch


def test_a_game_with_an_opening_has_no_searched_ply_in_it() -> None:
    for word in "abcdefgh":
        world = World(word=word)
        batch = world.play(world.register("ada"))
        opened = [n for n, game in enumerate(world.content(batch).games) if game.header.opening_moves]
        if opened:
            assert check(world, lie(world, batch, PLY, opened[0], 0)).ply == 0
            return
    raise AssertionError("no world has a game with an opening")


def test_a_verdict_on_a_later_order_convicts_too() -> None:
    world = World(verifiers=2)
    batch = world.batch(world.register("ada"))
    world.ticks(1)
    order = world.state.batches.order(batch, REPEAT, world.state.size - 1, chosen=(0, 1), but=batch.assigned or b"")
    assert order is not None
    world.share_set()
    proof = lie(world, order, PLY, 0, searched(world, batch, 0))
    logged = Verdict.open(envelope_of(FraudProof.parse(proof).verdict[0]))
    assert logged.index == order.index > batch.index
    assert check(world, proof).subject == order.assigned


# ---- what does not


@pytest.mark.parametrize("label", [label for label in (*CHEAP, *REPLAYED) if label != "counter"])
def test_a_verifier_that_is_right_cannot_be_convicted(world: World, label: str) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, (CHEAP | REPLAYED)[label]))
    world.judge(batch)
    with pytest.raises(BadProof):
        check(world, world.accusation(batch, against_verifier=True))
    assert check(world, world.accusation(batch)).accused == CONTRIBUTOR


def test_a_verifier_that_is_right_about_a_counter(world: World) -> None:
    def relabel(blocks: list[bytes]) -> list[bytes]:
        return [edits.header(counter=7 + n)(GameBlock.parse(block)) for n, block in enumerate(blocks)]

    batch = world.play(world.peers["ada"], edit=relabel)
    world.judge(batch)
    with pytest.raises(BadProof, match="has counter 7 in place of 0"):
        check(world, world.accusation(batch, against_verifier=True))


@pytest.mark.parametrize("label", ["setup", "illegal move"])
def test_what_is_wrong_before_is_no_framing(label: str) -> None:
    """A game whose setup or rules are wrong has plies and an end that nobody can call right."""
    for kind, ply in ((PLY, 9), (PLY, BEYOND), (RULES, 0)):
        world = World()
        batch = world.play(world.register("ada"), edit=edits.of_game(1, CHEAP[label]))
        assert 9 in world.content(batch).games[1].plies
        with pytest.raises(BadProof):
            check(world, lie(world, batch, kind, 1, ply))


def test_a_false_accusation_of_the_game_beside_a_wrong_one(world: World) -> None:
    """Game 1 is wrong, and the verdict points to game 0: it says what is not so."""
    batch = world.play(world.peers["ada"], edit=edits.of_game(1, edits.value(6)))
    proof = lie(world, batch, PLY, 0, searched(world, batch, 0))
    assert check(world, proof).framed


# ---- forged


@pytest.fixture(scope="module")
def framed() -> tuple[World, BatchInfo, bytes]:
    """A batch whose verdict points to a right ply, and the proof of that; two other batches are judged rightly."""
    for word in "abcdefghijklmnopqrstuvwxyz":
        world = World(word=word, verifiers=1)
        ada, bob, eve = world.register("ada"), world.register("bob"), world.register("eve")
        world.batch(bob)
        wrong = world.play(eve, edit=edits.of_game(1, edits.value(6)))
        world.judge(wrong)
        batch = world.play(ada)
        games = world.content(batch).games
        if all(len(game.plies) > 9 and not game.header.opening for game in games):
            return world, batch, lie(world, batch, PLY, 1, searched(world, batch, 1))
    raise AssertionError("no world has games that are long enough")


def logged(world: World, index: int) -> LoggedEntry:
    return LoggedEntry(world.entry(index), index, world.state.tree.inclusion_proof(index))


def envelope_of(item: LoggedEntry) -> Envelope:
    return Envelope.parse(item.entry)


def forgeries(world: World, batch: BatchInfo) -> dict[str, Callable[[FraudProof], FraudProof]]:
    """Ways to turn a proof of framing against another key, or into one about something else."""
    sets = [n for n, entry in enumerate(world.entries) if b"share-set.v1" in entry]
    others = [each for each in world.state.batches.all if each is not batch]
    right, wrong = others[0], others[1]
    game, other = world.content(batch).games[1], world.content(batch).games[0]
    ply = searched(world, batch, 1)
    at = 24 + 2 * ply

    def leaf(change: Callable[[GameBlock], bytes]) -> bytes:
        return change(game)[: game.header.moves_end] + world.content(batch).leaves[1][-32:]

    other_verdict = verdict_on(world, batch, PLY, 1, ply + 1).seal(world.verifiers[0]).encode()
    forged = verdict_on(world, batch, PLY, 1, ply).seal(world.peers["ada"]).encode()
    return {
        "accused is the contributor": lambda p: replace(p, accused=CONTRIBUTOR, verdict=()),
        "accused is the contributor, with the verdict": lambda p: replace(p, accused=CONTRIBUTOR),
        "no verdict": lambda p: replace(p, verdict=()),
        "two verdicts": lambda p: replace(p, verdict=p.verdict * 2),
        "the verdict on another batch": lambda p: replace(p, verdict=(logged(world, wrong.verdict_index),)),
        "an accept of another batch": lambda p: replace(p, verdict=(logged(world, right.verdict_index),)),
        "a verdict that is not logged": lambda p: replace(p, verdict=(replace(p.verdict[0], entry=other_verdict),)),
        "a verdict that somebody else signed": lambda p: replace(p, verdict=(replace(p.verdict[0], entry=forged),)),
        "a header in the verdict's place": lambda p: replace(p, verdict=(p.header,)),
        "the verdict's place": lambda p: replace(p, verdict=(replace(p.verdict[0], index=p.verdict[0].index - 1),)),
        "another batch's header": lambda p: replace(p, header=logged(world, right.index)),
        "another kind, rules": lambda p: replace(p, kind=RULES),
        "another kind, setup": lambda p: replace(p, kind=SETUP),
        "another game": lambda p: replace(p, game_index=0),
        "another game, whole": lambda p: replace(
            p, game_index=0, game=world.content(batch).leaves[0], game_path=(leaf_hash(p.game),)
        ),
        "another ply": lambda p: replace(p, ply=game.record(ply + 1), ply_index=p.ply_index + 1),
        "another game's ply": lambda p: replace(p, ply=other.record(ply)),
        "no ply": lambda p: replace(p, ply=b"", ply_path=()),
        "forged earlier moves": lambda p: replace(
            p, game=p.game[: at - 2] + bytes([p.game[at - 2] ^ 1]) + p.game[at - 1 :]
        ),
        "forged move": lambda p: replace(p, game=p.game[:at] + bytes([p.game[at] ^ 1]) + p.game[at + 1 :]),
        "forged size": lambda p: replace(p, game=leaf(edits.header(size=9))),
        "forged komi": lambda p: replace(p, game=leaf(edits.header(komi_half=3))),
        "forged counter": lambda p: replace(p, game=leaf(edits.header(counter=99))),
        "another nonce": lambda p: replace(p, shares=logged(world, sets[-1])),
        "another registration": lambda p: replace(
            p,
            registration=logged(world, world.state.registration(world.peers["bob"].public).index),  # type: ignore[union-attr]
        ),
        "another release": lambda p: replace(p, release=world.state.manifest.encode()),
        "another run": lambda p: replace(p, run=bytes(32)),
    }


NAMES = (
    "accused is the contributor",
    "accused is the contributor, with the verdict",
    "no verdict",
    "two verdicts",
    "the verdict on another batch",
    "an accept of another batch",
    "a verdict that is not logged",
    "a verdict that somebody else signed",
    "a header in the verdict's place",
    "the verdict's place",
    "another batch's header",
    "another kind, rules",
    "another kind, setup",
    "another game",
    "another game, whole",
    "another ply",
    "another game's ply",
    "no ply",
    "forged earlier moves",
    "forged move",
    "forged size",
    "forged komi",
    "forged counter",
    "another nonce",
    "another registration",
    "another release",
    "another run",
)


@pytest.mark.parametrize("name", NAMES)
def test_forgeries_fail(framed: tuple[World, BatchInfo, bytes], name: str) -> None:
    world, batch, proof = framed
    assert check(world, proof).framed
    made = forgeries(world, batch)
    assert set(made) == set(NAMES)
    with pytest.raises(ProtocolError):
        check(world, made[name](FraudProof.parse(proof)).encode())


def test_a_changed_byte_never_convicts_anybody_else(framed: tuple[World, BatchInfo, bytes]) -> None:
    world, _, proof = framed
    rng = Random(7)
    for _ in range(120):
        at = rng.randrange(len(proof))
        changed = proof[:at] + bytes([proof[at] ^ (1 << rng.randrange(8))]) + proof[at + 1 :]
        try:
            found = check(world, changed)
        except ProtocolError:
            continue
        assert (found.subject, found.framed) == (world.verifiers[0].public, True)


def test_every_ply_of_an_honest_batch_is_framing_and_no_fraud(framed: tuple[World, BatchInfo, bytes]) -> None:
    """Whatever ply of whatever game a proof against the contributor is about, it does not hold."""
    world, batch, _ = framed
    for game, block in enumerate(world.content(batch).games):
        for ply in (block.plies[0], block.plies[len(block.plies) // 2], block.plies[-1]):
            evidence = Evidence(PLY, game, ply)
            proof = build_proof(world.state, world.entry, world.note(), batch, world.content(batch), evidence)
            with pytest.raises(BadProof, match="is what its search gives"):
                check(world, proof)


def test_the_log_takes_no_ban_of_another_key(framed: tuple[World, BatchInfo, bytes]) -> None:
    world, batch, proof = framed
    assert "against somebody else" in refused(world, Ban(world.run, batch.header.peer, proof), world.coordinator)
    assert "somebody else" in refused(world, Ban(world.run, world.coordinator.public, proof), world.coordinator)


def test_an_accept_is_no_framing(world: World) -> None:
    batch = world.batch(world.peers["ada"])
    assert batch.verdict is not None
    assert batch.verdict.outcome == ACCEPT
    evidence = Evidence(PLY, 1, searched(world, batch, 1))
    proof = build_proof(world.state, world.entry, world.note(), batch, world.content(batch), evidence, True)
    with pytest.raises(BadProof, match="is what its search gives"):
        check(world, proof)
