"""A verdict that leads to no decision in time falls away: a blob called wrong that is not, traces that are not opened."""

from dataclasses import replace

from protocol.ed25519 import SecretKey
from protocol.proof import RULES
from protocol.verdict import ACCEPT, BLOB, TraceOpening
from tests.verification.test_batches import accept, policy
from tests.verification.test_framing import verdict_on
from tests.verification.test_state import refused
from tests.verification.verdicts import with_second
from tests.verification.world import World
from verification.identities import BatchInfo

TIMEOUT = 20


def rejected(verifiers: int = 3) -> tuple[World, BatchInfo]:
    """An honest batch whose verifier says that the blob is not what was signed."""
    world = World(verifiers=verifiers)
    batch = world.play(world.register("ada"))
    verdict = verdict_on(world, batch, BLOB, 0)
    world.log(verdict, world.verifier_key(verdict.verifier))
    world.ticks(1)
    return world, batch


def test_it_accuses_nobody_until_it_is_confirmed() -> None:
    world, batch = rejected()
    assert not world.state.batches.accusing()
    assert not world.state.batches.is_suspended(batch.header.peer)
    assert world.play(world.peers["ada"]).is_open
    assert batch.is_open


def test_what_is_not_confirmed_in_time_is_judged_by_another() -> None:
    world, batch = rejected()
    liar = batch.assigned
    world.ticks(batch.verdict_index + TIMEOUT - world.state.size)
    assert batch.verdict is not None
    world.ticks(1)
    assert batch.verdict is None
    assert batch.opening is None
    assert batch.assigned not in (None, liar)
    assert liar not in batch.candidates
    verdict = verdict_on(world, batch, BLOB, 0)
    assert verdict.verifier != liar
    world.judge(batch)
    world.admit()
    assert batch.is_accepted_batch


def test_what_is_confirmed_stays() -> None:
    world, batch = rejected()
    (due,) = world.state.due_decisions()
    assert due.decision.outcome == "rejected"
    world.convict()
    world.admit()
    world.ticks(2 * TIMEOUT)
    assert batch.verdict is not None
    assert batch.decision is not None
    assert batch.decision.outcome == "rejected"


def test_the_only_verifier_is_not_asked_again() -> None:
    world, batch = rejected(verifiers=1)
    world.ticks(3 * TIMEOUT)
    assert batch.verdict is not None
    assert len(world.state.due_decisions()) == 1


# ---- an accept without its traces


def unopened(verifiers: int = 3) -> tuple[World, BatchInfo]:
    """A batch that its verifier accepts; what it replayed it does not show."""
    world = World(verifiers=verifiers)
    batch = world.play(world.register("ada"))
    world.log(replace(verdict_on(world, batch, RULES, 0), outcome=ACCEPT, evidence="", reason=""), signer(world, batch))
    return world, batch


def signer(world: World, batch: BatchInfo) -> SecretKey:
    return world.verifier_key(batch.assigned)


def test_traces_that_are_not_opened() -> None:
    world, batch = unopened()
    lazy = batch.assigned
    world.ticks(TIMEOUT - 1)
    assert batch.verdict is not None
    world.ticks(1)
    assert batch.verdict is None
    assert batch.assigned not in (None, lazy)
    late = TraceOpening(world.run, lazy or b"", batch.digest, batch.index, bytes(32), batch.header.plies)
    assert "has no verdict" in refused(world, late, world.verifier_key(lazy))
    world.judge(batch)
    world.admit()
    assert batch.is_accepted_batch


def test_an_accusation_does_not_fall_away() -> None:
    """It waits for its proof, however long: another would judge with nothing to lose."""
    world = World(verifiers=3)
    batch = world.play(world.register("ada"))
    world.log(verdict_on(world, batch, RULES, 0), signer(world, batch))
    world.ticks(5 * TIMEOUT)
    assert batch.verdict is not None
    assert world.state.batches.accusing() == [batch]


def test_a_decision_in_time(world: World) -> None:
    batch = world.batch(world.peers["ada"])
    world.ticks(3 * TIMEOUT)
    assert batch.verdict is not None
    assert batch.is_accepted_batch


def test_who_waits_for_a_second_verifier_is_not_to_blame() -> None:
    world = World(policy(games_per_batch=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    batch = with_second(world)
    timeout = world.manifest.admission.timeout_entries
    accept(world, batch)
    first = batch.verdict
    world.ticks(batch.index + 2 * timeout + 1 - world.state.size)
    assert batch.verdict is first
    assert [due.decision.outcome for due in world.state.due_decisions()] == ["accepted"]
    # Nobody decides it, as if the traces were made up: then another is asked, but not the second.
    world.ticks(2 * timeout)
    assert batch.verdict is None
    assert batch.second is not None
    assert first is not None
    assert batch.assigned not in (None, first.verifier)
