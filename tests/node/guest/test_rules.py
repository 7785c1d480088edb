"""Battery, heat and use: when play rests, and what is said of it."""

from node.guest.budget import Budget
from node.guest.heat import GAP_C
from node.guest.hours import Hours
from node.guest.options import GuestOptions
from tests.node.guest.settable import Settable


def test_a_guest_plays_always_but_on_a_battery() -> None:
    machine = Settable()
    (rule,) = GuestOptions().rules(machine)
    assert rule.waiting_for() is None
    machine.on_battery = True
    assert rule.waiting_for() == "mains power (--on-battery yes plays without it)"
    assert GuestOptions(on_battery=True).rules(machine) == []


def test_heat_is_left_only_when_it_is_well_below_the_limit() -> None:
    machine = Settable()
    (rule,) = GuestOptions(on_battery=True, max_temp_c=80).rules(machine)
    heard = []
    for now_c in (40, 79.9, 80, 79.9, 80 - GAP_C, 80 - GAP_C - 0.1, 79.9, 95, None, 79, 81):
        machine.temp_c = now_c
        heard.append(rule.waiting_for() is not None)
    assert heard == [False, False, True, True, True, False, False, True, False, False, True]
    assert rule.waiting_for() == "the processor to cool below 75 degrees (--max-temp 80)"


def test_use() -> None:
    machine = Settable()
    (rule,) = GuestOptions(on_battery=True, on_idle=True).rules(machine)
    assert rule.waiting_for() is None
    for unused in (False, None):
        machine.unused = unused
        assert rule.waiting_for() == "nobody to have used this machine for five minutes (--on-idle)"


def test_what_a_machine_does_not_tell_is_a_sentence_each() -> None:
    options = GuestOptions(Hours.parse("22-7"), on_idle=True, max_temp_c=80)
    assert options.missing(Settable()) == []
    blind = Settable(temp_c=None, unused=None)
    assert GuestOptions().missing(blind) == []
    assert options.missing(blind) == [
        "This machine tells no temperature, so --max-temp changes nothing.",
        "This machine does not tell whether somebody uses it, so --on-idle has play rest all the time.",
    ]
    assert [rule.name for rule in options.rules(blind)] == ["hours", "on-battery", "max-temp", "on-idle"]


def test_a_budget() -> None:
    assert Budget().spent(1e9, 10**9) is None
    assert Budget(minutes=1.5).spent(89.9, 5) is None
    assert Budget(minutes=1.5).spent(90, 5) == "1.5 minutes are over (--minutes)."
    assert Budget(games=3).spent(1e9, 2) is None
    assert Budget(minutes=1, games=3).spent(1e9, 3) == "3 games are finished (--games)."
    assert Budget(games=1).spent(0, 1) == "1 game is finished (--games)."
