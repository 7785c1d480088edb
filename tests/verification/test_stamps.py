"""Stamps in the log: how long one is good, at what difficulty, and what hoards get."""

from dataclasses import replace

import pytest

from protocol import stamp
from protocol.registration import Registration
from tests.verification.door import TIMEOUT, Gate, known
from tests.verification.test_state import refused

pytestmark = pytest.mark.usefixtures("cheap")


def test_hoarded_stamps_are_worth_nothing() -> None:
    gate = Gate(slots=2)
    hoard = [gate.stamped(f"sybil-{n}") for n in range(3)]
    size = gate.state.size
    gate.world.ticks(TIMEOUT)
    gate.world.share_set()
    old = gate.stamped("old", size)
    assert all(gate.why(each).startswith("never: ") for each in [*hoard, old])
    newest = gate.stamped("newest", gate.state.size - TIMEOUT)
    assert gate.why(newest).startswith("later: ")
    gate.list_these([old, newest])
    assert "too old when it was listed" in gate.why(old), "a coordinator that lists it changes nothing"
    assert gate.may_log(newest)


def test_a_stamp_that_is_listed_in_time_stays_good_until_the_list_is_over() -> None:
    gate = Gate(slots=1)
    ada = gate.stamped("ada", gate.state.size - 1)
    gate.list_these([ada])
    gate.world.ticks(TIMEOUT - 2)
    assert gate.may_log(ada)


def test_a_stamp_has_the_difficulty_of_its_list() -> None:
    gate = Gate(slots=2, difficulty=64)
    good = gate.stamped("ada")
    record = Registration.open(good)
    weak = next(
        each
        for each in (replace(record, stamp=record.stamp + n).seal(gate.world.key("ada")) for n in range(1, 500))
        if not stamp.is_stamp(Registration.open(each), 64)
    )
    none = replace(record, stamp=0).seal(gate.world.key("ada"))
    gate.list_these([weak, none])
    assert gate.why(weak) == "never: The registration's stamp does not reach the difficulty of 64."
    assert gate.why(none) == "never: The registration has neither an invite nor a stamp."

    gate = Gate(slots=1, difficulty=4)
    bob = gate.stamped("bob")
    gate.list_these([bob])
    policy = replace(gate.world.manifest.admission, stamp_difficulty=2**32 - 1)
    harder = replace(gate.world.manifest, run=gate.world.run, version=2, admission=policy)
    gate.world.log(harder, gate.world.root_key)
    assert gate.may_log(bob)


def test_nobody_tries_a_stamp_that_did_not_win(cheap: list[int]) -> None:
    """What is only waiting costs whoever checks it no scrypt, and what won costs one."""
    gate = Gate(slots=1)
    waiting = [gate.stamped(f"peer-{n}") for n in range(4)]
    cheap.clear()
    for envelope in waiting:
        gate.why(envelope)
    gate.list_these(waiting)
    assert not cheap
    (winner,) = gate.winners(waiting)
    gate.log(winner)
    assert len(cheap) == 1


def test_an_invite_and_a_stamp_do_not_go_together() -> None:
    gate = Gate()
    size = gate.state.size
    key = gate.world.key("ada")
    root, invite = gate.state.tree.root(size), gate.world.invite("ada")
    both = Registration(gate.world.run, key.public, "ada", b"", size, root, invite, 1)
    assert "an invite or a stamp" in refused(gate.world, both, key)


def test_the_first_registration_of_a_key_wins() -> None:
    gate = Gate(slots=2)
    first = gate.stamped("ada")
    second = gate.stamped("ada", name="adam")
    gate.list_these([first, second])
    assert gate.winners([first, second]) == [first, second]
    gate.log(second)
    assert gate.why(first) == "never: This key is registered already."
    assert gate.state.slots.holders == second.signers
    draw = gate.state.slots.draw
    assert draw is not None
    assert draw.awaited == {first.digest}
    gate.world.ticks(draw.last_index - gate.state.size + 1)
    assert gate.state.slots.draw is None


def test_losers_may_be_listed_again() -> None:
    gate = Gate(slots=1)
    waiting = [gate.stamped(f"peer-{n}") for n in range(3)]
    gate.list_these(waiting)
    (winner,) = gate.winners(waiting)
    gate.log(winner)
    gate.world.batch(known(gate, winner))
    losers = [each for each in waiting if each is not winner]
    gate.list_these(losers)
    assert len(gate.winners(losers)) == 1
