"""The draw of probation slots: who waits, who wins, and what a flood gets."""

from hashlib import sha256
from itertools import permutations, product
from random import Random

import pytest

from protocol.envelope import Envelope
from protocol.errors import ParseError
from protocol.registration import Registration
from protocol.seeds import slot_rank
from protocol.slots import MOST_LISTED, SlotList
from tests.verification.door import TIMEOUT, Gate, standing
from tests.verification.test_state import refused
from tests.verification.verdicts import rebuilt
from tests.verification.world import World
from verification.faults import LogFault, NotYet

pytestmark = pytest.mark.usefixtures("cheap")


def test_a_stamp_waits_for_a_list_its_beacon_and_its_luck() -> None:
    gate = Gate(slots=1)
    ada, bob = gate.stamped("ada"), gate.stamped("bob")
    assert gate.why(ada) == "later: The registration waits for a probation slot."
    gate.list_these([ada, bob], is_drawn=False)
    assert gate.why(ada) == "later: The registration waits for the draw of its slot list."
    gate.world.share_set()
    (winner,) = gate.winners([ada, bob])
    loser = bob if winner is ada else ada
    assert gate.why(loser) == "later: The registration did not win a slot and waits for another list."
    gate.log(winner)
    assert gate.state.slots.holders == winner.signers
    assert gate.why(loser) == "later: The registration waits for a probation slot."
    assert gate.state.join_nonce(winner.signers[0]) is not None


@pytest.mark.parametrize(("waiting", "slots"), list(product(range(1, 6), range(1, 4))))
def test_the_lowest_ranks_win_the_free_slots(waiting: int, slots: int) -> None:
    gate = Gate(slots=slots)
    stamped = [gate.stamped(f"peer-{n}") for n in range(waiting)]
    index = gate.list_these(stamped)
    beacon = gate.state.beacon(index)
    assert beacon is not None
    ranked = sorted(stamped, key=lambda envelope: slot_rank(beacon, envelope.digest))
    assert gate.winners(ranked) == ranked[:slots]
    for order in permutations(ranked[:slots]):
        again = rebuilt(gate.world)
        for envelope in order:
            again.apply(envelope.encode())
        assert set(again.slots.holders) == {envelope.signers[0] for envelope in order}
        assert (again.slots.draw, again.slots.free) == (None, slots - len(order))


def test_every_order_of_a_list_draws_the_same() -> None:
    """The coordinator orders what it lists, and that changes nothing once the same tree came before: the beacon ranks."""
    gate = Gate(slots=2)
    beacon = bytes(range(32))
    digests = [gate.stamped(f"peer-{n}").digest for n in range(5)]
    drawn = {tuple(sorted(each, key=lambda digest: slot_rank(beacon, digest))[:2]) for each in permutations(digests)}
    assert len(drawn) == 1


def test_who_lists_what_and_when() -> None:
    gate = Gate(slots=1)
    ada, bob = gate.stamped("ada"), gate.stamped("bob")
    record = SlotList(gate.world.run, (ada.digest,))
    assert "not signed by a coordinator" in refused(gate.world, record, gate.world.verifiers[0])
    gate.list_these([ada], is_drawn=False)
    assert "is open" in refused(gate.world, record, gate.world.coordinator)
    gate.world.share_set()
    assert "is open" in refused(gate.world, record, gate.world.coordinator)
    gate.log(ada)
    assert refused(gate.world, record, gate.world.coordinator) == "No probation slot is free."
    for digests in ((), (bob.digest,) * 2, [*(sha256(bytes([n])).digest() for n in range(256)), ada.digest]):
        with pytest.raises(ParseError, match=f"from 1 to {MOST_LISTED}"):
            SlotList(gate.world.run, tuple(digests))


def test_a_run_by_invite_draws_no_slots() -> None:
    world = World()
    record = SlotList(world.run, (bytes(32),))
    assert "by invite only" in refused(world, record, world.coordinator)
    plain = Registration(world.run, world.key("ada").public, "ada", b"", 2, world.state.tree.root(2), b"", 1)
    assert "by invite only" in refused(world, plain, world.key("ada"))


def test_without_slots_nobody_is_drawn() -> None:
    gate = Gate(slots=0)
    record = SlotList(gate.world.run, (gate.stamped("ada").digest,))
    assert refused(gate.world, record, gate.world.coordinator) == "No probation slot is free."


def test_a_winner_that_comes_too_late_has_to_win_again() -> None:
    gate = Gate(slots=2)
    ada, bob = gate.stamped("ada"), gate.stamped("bob")
    gate.list_these([ada, bob])
    gate.log(ada)
    draw = gate.state.slots.draw
    assert draw is not None
    assert draw.awaited == {bob.digest}
    gate.world.ticks(draw.last_index - gate.state.size)
    assert gate.may_log(bob), "the last entry in which it may be logged"
    gate.world.ticks(1)
    assert gate.state.slots.draw is None
    assert gate.why(bob).startswith("never: The registration's stamp is for a tree of")
    fresh = gate.stamped("bob")
    gate.list_these([fresh])
    gate.log(fresh)
    assert bob.signers[0] in gate.state.slots.holders


@pytest.mark.parametrize("word", ["a", "b", "c"])
def test_any_order_of_events_keeps_within_the_slots(word: str) -> None:
    """Lists, draws, winners, late winners, losses and graduations as they come: never more than the slots."""
    gate = Gate(slots=3)
    rng = Random(word)
    waiting: dict[str, Envelope] = {}
    number = 0
    for _ in range(150):
        state = gate.state
        draw = state.slots.draw
        match rng.choice(["come", "come", "list", "draw", "register", "register", "tick", "batch"]):
            case "come":
                number += 1
                waiting[f"peer-{number}"] = gate.stamped(f"peer-{number}")
            case "list" if state.slots.free and waiting:
                gate.list_these(list(waiting.values())[:MOST_LISTED], is_drawn=rng.random() < 0.5)
            case "draw":
                gate.world.share_set()
            case "register":
                for name, envelope in list(waiting.items()):
                    try:
                        state.check(envelope.encode())
                    except NotYet:
                        continue
                    except LogFault:
                        del waiting[name]
                        continue
                    gate.world.log_bytes(waiting.pop(name).encode())
                    break
            case "tick":
                gate.world.ticks(rng.randrange(1, 8))
            case "batch" if state.slots.holders and state.join_nonce(state.slots.holders[0]) is not None:
                info = state.registry.find(state.slots.holders[0])
                assert info is not None
                assert isinstance(info.record, Registration)
                gate.world.batch(gate.world.key(info.record.name))
        draw = state.slots.draw
        reserved = 0 if draw is None else draw.places - len(draw.logged)
        assert len(state.slots.holders) + reserved <= 3
        assert draw is None or state.slots.free == 0
    assert len(gate.state.registry.peers) > 3
    assert standing(rebuilt(gate.world)) == standing(gate.state)


def test_a_flood_of_keys_does_not_keep_the_honest_out() -> None:
    """Two honest keys among 200 that play nothing: all slots that the flood wins come back, and both get in."""
    gate = Gate(slots=8)
    honest = {"ada", "bob"}
    names = [*honest, *(f"sybil-{n}" for n in range(200))]
    rounds = 0
    held = 0
    while not all(gate.state.registry.find(gate.world.key(name).public) for name in honest):
        rounds += 1
        assert rounds < 300
        waiting = [gate.stamped(n) for n in names if gate.state.registry.find(gate.world.key(n).public) is None]
        gate.list_these(waiting)
        winners = gate.winners(waiting)
        assert len(winners) == 8
        for envelope in winners:
            gate.world.log_bytes(envelope.encode())
        gate.world.share_set()
        held = max(held, len(gate.state.slots.holders))
        gate.world.ticks(TIMEOUT + 2)
        assert gate.free() == 8
    assert held == 8, "never more on probation at once than there are slots"
