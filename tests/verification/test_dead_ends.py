"""What a verifier, a contributor or chance might leave undecided for ever, and does not."""

from dataclasses import replace

from protocol.admission import LOST, Admission, Decision
from protocol.epoch import EpochReveal
from protocol.proof import Ban, Pardon
from protocol.seeds import PPM
from protocol.types import ZERO
from protocol.verdict import ACCEPT, RULES
from tests.verification import edits
from tests.verification.replaced import register, replace_key
from tests.verification.test_batches import accept as accept_and_admit
from tests.verification.test_batches import policy
from tests.verification.test_fills import crowd, fill_in, opened
from tests.verification.test_framing import verdict_on
from tests.verification.test_state import refused, snapshot
from tests.verification.verdicts import accept, accepted, accuse, rebuilt, with_second
from tests.verification.world import World
from verification.identities import VOID, BatchInfo
from verification.replay import Replayed
from verification.series import Fill

TIMEOUT = 20


def test_a_second_verifier_that_speaks_after_the_decision_is_not_heard() -> None:
    """Its word would suspend the contributor, and nothing would ever decide it."""
    world = World(policy(games_per_batch=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    batch = with_second(world)
    accept(world, batch)
    world.ticks(2 * TIMEOUT)
    world.admit()
    assert batch.is_accepted_batch
    assert batch.second is not None
    late = world.verifier_key(batch.second.assigned)
    verdict = replace(verdict_on(world, batch.second, RULES, 0), drawn=(0,))
    assert "needs no verdict any more" in refused(world, verdict, late)
    assert not world.state.batches.is_suspended(batch.header.peer)


def test_a_proved_rejection_needs_no_traces() -> None:
    """A verifier that accuses and opens nothing keeps nobody suspended who is pardoned."""
    world = World(policy(hold_back_batches=0, pardon_plies=1), verifiers=3)
    world.register("ada")
    accepted(world)
    batch = world.play(world.peers["ada"], edit=edits.of_game(0, edits.value(0)))
    first = replace(verdict_on(world, batch, "ply", 0), drawn=(0,))
    world.log(first, world.verifier_key(first.verifier))
    assert batch.opening is None
    assert world.state.due_decisions() == []
    world.log(Pardon(world.run, batch.header.peer, world.accusation(batch)), world.coordinator)
    assert world.admit() is not None
    assert not world.state.batches.is_suspended(batch.header.peer)
    assert not world.state.batches.is_out(batch.header.peer)


def test_an_accused_batch_is_not_lost() -> None:
    """Its first verifier is silent, the second accuses: that stands until it is proved, or a proof against its author."""
    world = World(policy(games_per_batch=1, hold_back_batches=0), verifiers=3)
    world.register("ada")
    batch = with_second(world)
    assert batch.second is not None
    accuse(world, batch.second)
    world.ticks(3 * TIMEOUT)
    assert world.state.due_decisions() == []
    lost = Decision(batch.index, batch.index, LOST, ZERO, batch.q_ppm, "")
    assert "No decision is due" in refused(world, Admission(world.run, (lost,)), world.coordinator)
    liar = world.verifier_key(batch.second.assigned)
    world.log(Ban(world.run, liar.public, world.accusation(batch.second, against_verifier=True)), world.coordinator)
    assert [due.decision.outcome for due in world.state.due_decisions()] == [LOST]


def test_one_entry_orders_one_look() -> None:
    """A reveal that shows false draws has a batch judged anew, and its beacon picks the batch's games to be repeated."""
    world = World(policy(hold_back_batches=9, repeat_ppm=PPM), verifiers=3)
    world.register("ada")
    for _ in range(3):
        accepted(world)
    while True:
        batch = world.play(world.peers["ada"])
        bad = world.verifier_key(batch.assigned)
        if batch.second is None and batch.draw(world.secret(bad, 0)):
            break
        accept(world, batch)
        if batch.second is not None:
            accept(world, batch.second)
        world.admit()
    world.say(batch, Replayed((), (), None), None)
    world.admit()
    assert batch.is_accepted_batch
    world.begin_epoch(bad)
    index = world.reveal(bad, 0)
    world.share_set()
    assert world.state.faults
    assert [(look.index, look.purpose) for look in batch.rechecks] == [(index, VOID)]
    for look in world.state.batches.looking:
        accept(world, look)
    assert world.admit() is not None
    assert world.state.batches.looking == ()


def gap_and_tail() -> tuple[World, Fill, Fill]:
    """A gap of ada's, whose batch by bob turns out to be lost just so that it lapses with ada's tail."""
    world = crowd("ada bob", timeout_entries=TIMEOUT)
    ada = world.peers["ada"]
    lost = world.play(ada)
    world.ticks(TIMEOUT + 1)
    world.log(Admission(world.run, (Decision(lost.index, lost.index, LOST, ZERO, lost.q_ppm, ""),)), world.coordinator)
    (gap,) = opened(world)
    again = fill_in(world, ada, gap)
    world.play(ada, games=0, final=True)
    tail = opened(world)[1]
    assert not tail.is_gap
    world.ticks(tail.last_index - TIMEOUT - world.state.size)
    world.log(
        Admission(world.run, (Decision(again.index, again.index, LOST, ZERO, again.q_ppm, ""),)), world.coordinator
    )
    assert gap.last_index == tail.last_index
    return world, gap, tail


def test_a_gap_and_a_tail_after_it_lapse_at_once() -> None:
    world, gap, tail = gap_and_tail()
    assert opened(world) == [gap, tail]
    world.ticks(TIMEOUT + 1)
    assert opened(world) == []
    assert world.state.fills.lapsed == 1
    assert snapshot(rebuilt(world)) == snapshot(world.state)


def test_a_gap_stays_one_under_a_new_key() -> None:
    """Else whoever does not like its games loses them, and its key after that."""
    world = World(policy(hold_back_batches=0, timeout_entries=TIMEOUT))
    ada = register(world, "ada")
    accept_and_admit(world, world.play(ada))
    lost = world.play(ada)
    later = world.play(ada)
    accept_and_admit(world, later)
    world.ticks(TIMEOUT)
    world.log(Admission(world.run, (Decision(lost.index, lost.index, LOST, ZERO, lost.q_ppm, ""),)), world.coordinator)
    assert later.released_at is None
    new = replace_key(world, "ada")
    accept_and_admit(world, world.play(new))
    assert len(opened(world)) == 1
    assert later.released_at is None
    world.ticks(TIMEOUT)
    assert opened(world) == []
    assert later.dropped
    assert not world.state.batches.is_out(new.public)


def suspended_order(names: str = "ada") -> tuple[World, BatchInfo]:
    """A released batch of a contributor with a recovery key, which a verifier accuses when it is judged anew."""
    world = World(policy(hold_back_batches=0, exit_entries=0), verifiers=3)
    batch = world.play(register(world, names))
    accept(world, batch)
    if batch.second is not None:
        accept(world, batch.second)
    world.admit()
    assert batch.released_at is not None
    bad = world.verifier_key(batch.assigned)
    roles = tuple(replace(role, invalid_from=2) if role.key == bad.public else role for role in world.root.roles)
    world.log(replace(world.root, run=world.run, version=2, roles=roles), world.root_key)
    world.share_set([key for key in world.verifiers if key is not bad])
    (order,) = batch.rechecks
    assert order.purpose == VOID
    accuse(world, order)
    return world, batch


def test_a_new_key_is_not_accused_of_what_is_not_its_own() -> None:
    world, batch = suspended_order()
    world.verifiers = [key for key in world.verifiers if world.state.role_of(key.public) is not None]
    new = replace_key(world, "ada", invalid_from=batch.index)
    assert world.state.batches.looking == ()
    assert world.state.batches.accusing() == []
    assert not world.state.batches.is_suspended(new.public)
    assert world.state.released_rows == 0


def test_who_revealed_its_secret_judges_by_it() -> None:
    """A verdict after the reveal has no reveal any more that would show other games than drawn."""
    world = World(policy(q_min_ppm=500_000, timeout_entries=TIMEOUT, hold_back_batches=9), verifiers=2)
    world.register("ada")
    for _ in range(3):
        accepted(world)
    while True:
        batch = world.play(world.peers["ada"])
        other = next(key for key in world.verifiers if key.public != batch.assigned)
        drawn = batch.draw(world.secret(other, 0))
        if drawn and batch.second is None:
            break
        accept(world, batch)
        if batch.second is not None:
            accept(world, batch.second)
        world.admit()
    world.log(EpochReveal(world.run, other.public, 0, world.secret(other, 0)), other)
    world.ticks(TIMEOUT)
    verdict = replace(verdict_on(world, batch, RULES, 0), verifier=other.public, outcome=ACCEPT, evidence="", reason="")
    assert "not those that the draw gives" in refused(world, replace(verdict, drawn=()), other)
    world.log(replace(verdict, drawn=drawn), other)
