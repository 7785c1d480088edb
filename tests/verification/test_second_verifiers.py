"""Second verifiers: who they are, what waits for them, and what a convicted verifier's word is worth."""

import pytest

from protocol.proof import Ban
from protocol.seeds import is_second_assigned
from tests.verification import edits
from tests.verification.test_batches import policy
from tests.verification.test_state import refused, snapshot
from tests.verification.verdicts import accept, accepted, accuse, rebuilt, with_second
from tests.verification.world import World
from verification.identities import VOID, BatchInfo


@pytest.fixture
def pair() -> tuple[World, BatchInfo]:
    """A world of three verifiers and a batch that two of them have to judge."""
    world = World(policy(games_per_batch=1, probation_batches=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    return world, with_second(world)


def test_one_batch_in_ten_is_for_a_second_verifier(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    for each in world.state.batches.all:
        assert (each.second is not None) == is_second_assigned(each.beacon or b"", each.digest)
    assert batch.second is not None
    assert batch.second.assigned not in (None, batch.assigned)
    assert batch.second.index == batch.index


def test_a_decision_waits_for_both_verifiers(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    assert batch.second is not None
    accept(world, batch)
    assert world.state.due_decisions() == []
    assert world.state.batches_awaiting_verdict(batch.assigned or b"") == []
    assert world.state.batches_awaiting_verdict(batch.second.assigned or b"") == [batch.second]
    accept(world, batch.second)
    world.admit()
    assert batch.is_accepted_batch


def test_a_second_verifier_who_does_not_come_is_waited_for_no_longer(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    accept(world, batch)
    world.ticks(2 * world.manifest.admission.timeout_entries)
    assert [due.decision.outcome for due in world.state.due_decisions()] == ["accepted"]


def test_one_verifier_does_not_judge_twice(pair: tuple[World, BatchInfo]) -> None:
    world, batch = pair
    accept(world, batch)
    world.ticks(world.manifest.admission.timeout_entries + 1)
    assert batch.assigned is not None
    assert batch.second not in world.state.batches_awaiting_verdict(batch.assigned)


def test_what_the_second_verifier_rejects_is_rejected() -> None:
    world = World(policy(games_per_batch=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    good = with_second(world)
    assert good.second is not None
    accept(world, good)
    accept(world, good.second)
    world.admit()
    while True:
        batch = world.play(world.peers["ada"], 1, edits.of_game(0, edits.value(0)))
        if batch.second is not None:
            break
        accept(world, batch)
        world.admit()
    accept(world, batch)
    accuse(world, batch.second)
    assert world.state.batches.is_suspended(batch.header.peer)
    assert world.state.due_decisions() == []
    world.admit()
    assert batch.decision is not None
    assert batch.decision.outcome == "rejected"
    assert batch.decision.verifier == batch.second.assigned
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_nobody_is_rejected_before_a_proof_is_logged(world: World) -> None:
    batch = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    assert world.judge(batch) is not None
    assert world.state.batches.accusing() == [batch]
    assert world.state.due_decisions() == []
    header = world.header(world.peers["ada"], world.games(world.peers["ada"], 2))
    assert "being checked" in refused(world, header, world.peers["ada"])
    world.convict()
    assert [due.decision.outcome for due in world.state.due_decisions()] == ["rejected"]
    world.admit()
    assert world.state.batches.accusing() == []


def test_the_verdict_of_a_convicted_verifier_falls_away_and_others_judge() -> None:
    world = World(policy(hold_back_batches=1, exit_entries=0), verifiers=3)
    world.register("ada")
    first = accepted(world)
    batch = world.play(world.peers["ada"])
    liar = world.verifier_key(batch.assigned)
    accuse(world, batch)
    assert world.state.batches.is_suspended(batch.header.peer)
    world.log(Ban(world.run, liar.public, world.accusation(batch, against_verifier=True)), world.coordinator)
    assert not world.state.batches.is_suspended(batch.header.peer)
    assert batch.verdict is None
    assert batch.assigned not in (None, liar.public)
    again = [each for each in first.rechecks if each.purpose == VOID]
    assert len(again) == (1 if first.verdict is not None and first.verdict.verifier == liar.public else 0)
    assert liar.public not in world.state.subjects.candidates(world.state.size)
    accept(world, batch)
    world.share_set()
    for each in again:
        accept(world, each)
    world.admit()
    assert batch.is_accepted_batch
    assert first.released_at is not None
    assert snapshot(rebuilt(world)) == snapshot(world.state)
