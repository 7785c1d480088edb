"""What the directory may dial, answer and ask, whatever it is told."""

from trio.testing import MockClock

from node.peering.libp2p.kad.dials import (
    DIAL_EVERY_S,
    DIALS,
    DIALS_OF_LOOKUP,
    DIALS_OF_TELLER,
    REST_S,
    VAIN_OF_GROUP,
    DialBudget,
    LookupDials,
)
from node.peering.libp2p.kad.lookup import CLOSE, MAX_ASKED, Candidate, Lookup
from node.peering.libp2p.kad.message import Told
from node.peering.transport import peer_id

OWN, TELLER = b"o" * 32, b"t" * 32


def address(number: int, place: str = "ip4/9.{}.9.9/tcp/1") -> str:
    return f"/{place.format(number)}/p2p/{peer_id(TELLER)}"


async def test_who_answers_is_dialed_again() -> None:
    budget = DialBudget()
    for _ in range(VAIN_OF_GROUP + 1):
        assert budget.may_dial(address(1))
        budget.worked(address(1))


async def test_all_lookups_share_a_budget(mock_clock: MockClock) -> None:
    budget = DialBudget()
    assert sum(budget.may_dial(address(number)) for number in range(100)) == DIALS
    for number in range(100):
        budget.worked(address(number))
    mock_clock.jump(3 * DIAL_EVERY_S)
    assert sum(budget.may_dial(address(number)) for number in range(100)) == 3


async def test_a_lookup_and_a_teller_have_limits() -> None:
    dials = LookupDials(DialBudget())
    assert sum(dials.may_dial(address(number), TELLER) for number in range(20)) == DIALS_OF_TELLER
    others = sum(dials.may_dial(address(number), bytes([number]) * 32) for number in range(20))
    assert others == DIALS_OF_LOOKUP - DIALS_OF_TELLER


async def test_only_ip_addresses_are_dialed() -> None:
    budget = DialBudget()
    for place in ("dns4/a{}.org/tcp/1", "ip4/9.9.9.9/tcp/1/ws{}", f"ip4/9.9.9.9/tcp/1/p2p/{peer_id(OWN)}/p2p-circuit"):
        assert not budget.may_dial(address(1, place))


async def test_a_third_party_is_left_alone(mock_clock: MockClock) -> None:
    budget = DialBudget()
    for number in range(1, 1 + VAIN_OF_GROUP):
        victim = address(number, "ip4/9.9.9.{0}/tcp/22{0}")
        assert budget.may_dial(victim)
        assert not budget.may_dial(victim)
    assert not budget.may_dial(address(200, "ip4/9.9.9.{}/tcp/80"))
    assert budget.may_dial(address(1))
    mock_clock.jump(REST_S)
    assert budget.may_dial(address(200, "ip4/9.9.9.{}/tcp/80"))


def test_a_lookup_ends() -> None:
    def peer(number: int) -> bytes:
        return number.to_bytes(32, "big")

    lookup = Lookup(b"target", OWN, [Candidate(peer(0), (), peer(0)), Candidate(OWN, (), OWN)])
    asked = []
    number = 0
    while chosen := lookup.next(3):
        for candidate in chosen:
            asked.append(candidate.key)
            lookup.answered(candidate.key, [Told(peer(number := number + 1), ()) for _ in range(20)])
    assert CLOSE <= len(asked) <= MAX_ASKED
    assert len(set(asked)) == len(asked)
    assert OWN not in asked
    assert set(lookup.closest(5)) <= set(asked)

    lookup = Lookup(b"target", OWN, [Candidate(peer(each), (), peer(each)) for each in range(200)])
    failed = 0
    while chosen := lookup.next(3):
        for candidate in chosen:
            lookup.failed(candidate.key)
            failed += 1
    assert (failed, lookup.closest(5)) == (MAX_ASKED, [])
