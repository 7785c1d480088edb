"""Searches against a clock: one that is late is not waited for, and no second one is begun beside it."""

import threading
import time
from collections.abc import Callable

import pytest

from native.game import Game
from native.rules import Rules
from native.search import Ply
from node.play.pace import FIRST_VISITS, Pace
from node.play.timed import Timed
from tests.node.play.players import small_searcher

GAME = Game(Rules(3, 3, 1))


def searching(delays_s: list[float], asked: list[int]) -> Callable[[int], Ply]:
    """Searches that take these times, one after the other, and then none."""

    def search(visits: int) -> Ply:
        asked.append(visits)
        time.sleep(delays_s.pop(0) if delays_s else 0.0)
        return small_searcher().search(GAME, visits, bytes(32))

    return search


def visits_of(ply: Ply) -> int:
    """Of the search that gave it."""
    return sum(ply.visits) + 1


@pytest.fixture
def pace() -> Pace:
    """A machine that did a visit in 0.1 ms."""
    pace = Pace()
    pace.note(9, 1000, 0.1)
    return pace


def test_in_time(pace: Pace) -> None:
    asked: list[int] = []
    assert visits_of(Timed(pace).search(searching([], asked), 9, 0.5, 60_000)) == asked[-1]
    assert asked[0] == FIRST_VISITS
    assert 500 < asked[1] <= 625
    assert 2500 < asked[2] <= 4250


def test_most_visits(pace: Pace) -> None:
    asked: list[int] = []
    assert visits_of(Timed(pace).search(searching([], asked), 9, 10, 100)) == 100
    assert asked == [FIRST_VISITS, 100]


def test_a_late_search_is_left_alone(pace: Pace) -> None:
    asked: list[int] = []
    timed = Timed(pace)
    before = threading.active_count()
    began_s = time.monotonic()
    found = timed.search(searching([0.0, 0.0, 1.5], asked), 9, 0.3, 60_000)
    assert time.monotonic() - began_s < 1.2
    assert visits_of(found) == asked[1] < asked[2]
    assert threading.active_count() == before + 1
    again: list[int] = []
    timed.search(searching([], again), 9, 0.3, 60_000)
    assert len(again) == 2, "what measures and a short one, and no second long one beside a late one"


def test_a_position_that_costs_more_than_those_before() -> None:
    """Visits into ends of games took 1 us each; here they take 2 ms, and the short search would have taken a minute."""
    pace, asked = Pace(), list[int]()
    for _ in range(9):
        pace.note(9, 10_000, 0.01)

    def search(visits: int) -> Ply:
        asked.append(visits)
        time.sleep(0.002 * visits)
        pace.note(9, visits, 0.002 * visits)
        return small_searcher().search(GAME, visits, bytes(32))

    began_s = time.monotonic()
    Timed(pace).search(search, 9, 0.5, 60_000)
    assert time.monotonic() - began_s < 1.0
    assert asked[0] == FIRST_VISITS
    assert max(asked) < 250


def test_an_unknown_machine_is_measured() -> None:
    asked: list[int] = []
    timed = Timed(Pace())
    timed.search(searching([], asked), 9, 0.2, 60_000)
    assert asked[0] == FIRST_VISITS
    asked.clear()
    timed.search(searching([], asked), 9, 0.02, 60_000)
    assert asked[0] == 2
