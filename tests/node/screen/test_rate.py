"""Rates: over a minute, or over the last few things where these are rarer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.screen.rate import FEW, WINDOW_S, Rate


def test_nothing_came_yet() -> None:
    assert Rate(0.0).per_s(100.0) is None


def test_a_steady_stream_has_its_rate_from_the_start() -> None:
    rate = Rate(0.0)
    for second in range(1, 301):
        rate.add(float(second), 5.0)
        assert rate.per_s(float(second)) == pytest.approx(5.0, rel=0.1)


def test_rare_things_count_over_their_own_time() -> None:
    rate = Rate(0.0)
    for number in range(1, 10):
        rate.add(number * 200.0, 50.0)
    assert rate.per_s(1800.0) == pytest.approx(0.25)


def test_it_falls_when_nothing_comes() -> None:
    rate = Rate(0.0)
    for second in range(1, 61):
        rate.add(float(second), 1.0)
    seen = [rate.per_s(now) for now in (60.0, 100.0, 140.0, 1000.0, 10_000.0)]
    assert seen == sorted(seen, reverse=True, key=float)  # type: ignore[arg-type]
    assert seen[0] == pytest.approx(1.0)
    assert seen[-1] is not None
    assert seen[-1] < 0.001


def _by_definition(marks: list[tuple[float, float]], now_s: float) -> float:
    """What the module's docstring says, from all that ever came."""
    recent = [mark for mark in marks if mark[0] >= now_s - WINDOW_S]
    if len(recent) >= FEW:
        return sum(amount for _, amount in recent) / min(now_s, WINDOW_S)
    before = [0.0, *(when for when, _ in marks)][-FEW - 1 :]
    since_s = before[0] if len(marks) >= FEW else 0.0
    return sum(amount for _, amount in marks[-FEW:]) / (now_s - since_s)


@given(st.lists(st.tuples(st.floats(0.01, 500.0), st.floats(0.0, 1e6)), min_size=1, max_size=80), st.floats(0.1, 500.0))
def test_it_is_what_the_definition_says(steps: list[tuple[float, float]], later_s: float) -> None:
    rate, now, marks = Rate(0.0), 0.0, []
    for pause_s, amount in steps:
        now += pause_s
        rate.add(now, amount)
        marks.append((now, amount))
    now += later_s
    assert rate.per_s(now) == pytest.approx(_by_definition(marks, now))
