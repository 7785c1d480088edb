"""Hours by the local clock, over midnight too."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.guest.hours import DAY_MIN, Hours
from node.guest.within_hours import WithinHours

minutes = st.integers(0, DAY_MIN - 1)


@pytest.mark.parametrize(
    ("text", "within", "without"),
    [
        ("22-7", [(22, 0), (23, 59), (0, 0), (6, 59)], [(7, 0), (12, 0), (21, 59)]),
        ("9-17", [(9, 0), (16, 59)], [(8, 59), (17, 0), (0, 0)]),
        ("22:30-7:15", [(22, 30), (7, 14)], [(22, 29), (7, 15)]),
        ("18-24", [(18, 0), (23, 59)], [(0, 0), (17, 59)]),
        ("0-7", [(0, 0), (6, 59)], [(7, 0), (23, 59)]),
    ],
)
def test_which_minutes_are_within(text: str, within: list[tuple[int, int]], without: list[tuple[int, int]]) -> None:
    hours = Hours.parse(text)
    for times, expected in ((within, True), (without, False)):
        for hour, minute in times:
            assert hours.is_within(60 * hour + minute) == expected, (hour, minute)
            rule = WithinHours(hours, lambda: datetime(2026, 10, 25, hour, minute, 59))  # noqa: B023
            assert (rule.waiting_for() is None) == expected


def test_what_is_waited_for() -> None:
    rule = WithinHours(Hours.parse("22-7"), lambda: datetime(2026, 1, 1, 12))
    assert rule.waiting_for() == "22:00 o'clock (--hours 22:00-7:00)"


@given(minutes, minutes)
def test_hours_are_read_back(first: int, end: int) -> None:
    if first != end:
        hours = Hours(first, end)
        assert Hours.parse(hours.encode()) == hours
        assert sum(hours.is_within(minute) for minute in range(DAY_MIN)) == (end - first) % DAY_MIN


@pytest.mark.parametrize(
    "text",
    ["", "22", "22-", "-7", "22-22", "0-24", "24-0", "25-3", "7-24:01", "8:60-9", "8:5-9", "8-9-10", "x-y", "٢-٣"],
)
def test_what_is_no_hours(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*(no hours|two different times)[^\n]*\.$"):
        Hours.parse(text)
