"""The clock: no move is given more than is left, whatever the settings and the moves; and how visits follow from speed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.rules import Colour
from node.gtp.clock import LAG_S, LEAST_S, MOST_SHARE, NO_LIMIT, Clock, TimeSettings
from node.play.pace import LEAST_VISITS, MOST_VISITS, Pace

BLACK = Colour.BLACK
SECONDS = st.floats(0, 7200, allow_nan=False)
ROUNDING_S = 1e-6
"""The clock subtracts move by move, the model all at once."""


def settings() -> st.SearchStrategy[TimeSettings]:
    """All kinds that are counted."""
    count = st.integers(1, 30)
    return st.one_of(
        st.builds(TimeSettings, SECONDS),
        st.builds(TimeSettings, SECONDS, st.floats(0.5, 600), count),
        st.builds(
            lambda main, period, periods: TimeSettings(main, period, periods=periods),
            SECONDS,
            st.floats(0.5, 600),
            count,
        ),
    )


def test_no_limit() -> None:
    clock = Clock()
    assert clock.budget_s(BLACK, 50) is None
    clock.spend(BLACK, 1000)
    assert clock.budget_s(BLACK, 50) is None
    assert Clock(TimeSettings(60, 5, 0)).budget_s(BLACK, 50) is None, "a period without stones"
    clock.set_left(BLACK, 10, 0)
    budget = clock.budget_s(BLACK, 50)
    assert budget is not None
    assert budget < 1, "the controller counts after all"


@given(settings(), st.lists(st.floats(0, 100), max_size=40), st.integers(1, 200))
def test_no_more_than_is_left(told: TimeSettings, moves: list[float], moves_left: int) -> None:
    """A model of the clock that only adds up, for absolute time and for Japanese periods; never above a period."""
    clock = Clock(told)
    spent = 0.0
    for seconds in moves:
        budget = clock.budget_s(BLACK, moves_left)
        assert budget is not None
        assert budget >= LEAST_S
        if not told.period_s:
            assert budget <= max(LEAST_S, told.main_s - spent) + ROUNDING_S
        else:
            assert budget <= max(LEAST_S, max(0.0, told.main_s - spent) + told.period_s - LAG_S) + ROUNDING_S
        clock.spend(BLACK, seconds)
        spent += seconds


@given(settings(), st.integers(1, 100))
def test_moves_in_their_budget_lose_no_game(told: TimeSettings, moves_left: int) -> None:
    """Each move takes what it was given and 0.2 s more: absolute time lasts for what was foreseen, periods for ever."""
    clock = Clock(told)
    left = told.main_s
    stones, period = told.stones, told.period_s
    for _ in range(60):
        budget = clock.budget_s(BLACK, moves_left)
        assert budget is not None
        if budget <= LEAST_S:
            return  # there is nothing to be saved any more
        took = budget + 0.2
        clock.spend(BLACK, took)
        if left > 0:
            left -= took
            took = -left
        if left <= 0 and told.period_s:
            period -= max(0.0, took)
            assert period > -ROUNDING_S
            stones -= 1
            if told.periods or stones <= 0:
                stones, period = told.stones, told.period_s
        elif not told.period_s:
            assert left > 0


def test_what_the_controller_says_counts() -> None:
    clock = Clock(TimeSettings(600, 30, 5))
    clock.set_left(BLACK, 20, 4)
    assert clock.budget_s(BLACK, 100) == pytest.approx((20 - LAG_S) / 4)
    clock.set_left(BLACK, 0.1, 1)
    assert clock.budget_s(BLACK, 100) == LEAST_S
    clock = Clock(TimeSettings(0, 30, periods=3))
    clock.set_left(BLACK, 30, 2)
    assert clock.budget_s(BLACK, 100) == pytest.approx(30 - LAG_S), "KGS counts periods, not stones"
    assert NO_LIMIT.is_unlimited


@given(st.lists(st.tuples(st.integers(16, 5000), st.floats(1e-4, 100)), min_size=1, max_size=9), st.floats(0, 1000))
def test_visits_by_the_slowest_of_late(searches: list[tuple[int, float]], seconds: float) -> None:
    pace = Pace()
    for visits, took in searches:
        pace.note(81, visits, took)
    visits = pace.visits_within(81, seconds)
    slowest = max(took / visits for visits, took in searches[-5:])
    assert LEAST_VISITS <= visits <= MOST_VISITS
    assert visits == LEAST_VISITS or visits * slowest <= seconds * 1.001
    assert not pace.is_known(361)


@given(
    main_s=st.floats(0, 600),
    increment_s=st.floats(0.5, 60),
    over_s=st.none() | st.floats(1, 100),
    move_s=st.none() | st.floats(0.5, 60),
    slow_s=st.floats(0, 0.25),
    moves_left=st.integers(1, 100),
)
def test_increments_last_for_ever(
    main_s: float, increment_s: float, over_s: float | None, move_s: float | None, slow_s: float, moves_left: int
) -> None:
    """Each move takes what it was given and a little more: the clock of the controller, added up here, never runs out."""
    most_s = None if over_s is None else main_s + over_s
    clock = Clock(TimeSettings(main_s, increment_s=increment_s, most_s=most_s, move_s=move_s))
    clock.set_left(BLACK, main_s + increment_s, 0)
    left = main_s + increment_s
    for _ in range(80):
        budget = clock.budget_s(BLACK, moves_left)
        assert budget is not None
        assert budget <= max(LEAST_S, left - LAG_S) + ROUNDING_S
        assert move_s is None or budget <= max(LEAST_S, move_s - LAG_S) + ROUNDING_S
        took = budget + slow_s
        clock.spend(BLACK, took)
        left -= took
        assert left > 0
        left = min(left + increment_s, most_s if most_s is not None else left + increment_s)


def test_increments_are_used() -> None:
    clock = Clock(TimeSettings(100, increment_s=10))
    budget = clock.budget_s(BLACK, 20)
    assert budget is not None
    assert 10 < budget < 20
    clock.spend(BLACK, budget)
    clock.set_left(BLACK, 3, 0)
    assert clock.budget_s(BLACK, 20) == pytest.approx(MOST_SHARE * 3 - LAG_S), (
        "little is left until the increment comes"
    )
