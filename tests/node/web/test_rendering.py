"""How numbers and times are said, and that the graph of strength stays in its frame for any strengths."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from node.web.elo_graph import HEIGHT, LEFT, WIDTH, axis_of, elo_graph, elo_view, shown_points
from node.web.queries.overview import Point
from node.web.rendering import UNKNOWN, count, elo, figures, lasting, share, size, when
from node.web.stretch import ROWS, TIME

ELO = st.floats(-5000, 5000)


def test_numbers_are_said_without_false_digits() -> None:
    assert [count(0), count(1234567), count(None)] == ["0", "1,234,567", UNKNOWN]
    assert [figures(value) for value in (None, 0.0, 0.01234, 1.26, 12.6, 98765.4)] == [
        UNKNOWN,
        "0",
        "0.012",
        "1.3",
        "13",
        "98,765",
    ]
    assert [elo(None), elo(0.0), elo(0.0, 0.0), elo(-0.2), elo(100.04), elo(10.0), elo(-20.6, 7.5)] == [
        UNKNOWN,
        "0",
        "0",
        "0",
        "+100",
        "+10",
        "-21 ± 8",
    ]
    assert [size(999), size(1024), size(123_456_789)] == ["999 B", "1 KiB", "118 MiB"]
    assert [lasting(None), lasting(1.4), lasting(600), lasting(7200), lasting(400_000)] == [
        UNKNOWN,
        "1 s",
        "10 min",
        "2 h",
        "5 d",
    ]
    assert [share(None), share(50_000), share(10**6)] == [UNKNOWN, "5 %", "100 %"]


def test_times() -> None:
    assert when(1_700_000_000) == "2023-11-14 22:13 UTC"
    assert when(None) == when(2**63 - 1) == "time not known"


def points(strengths: list[tuple[float, float]]) -> list[Point]:
    """Release 0 and what came after it, each third refused."""
    first = Point(1, 10, 0, 0.0, 0.0, "passed", 0, bytes(32))
    return [
        first,
        *(
            Point(
                9 * n,
                100 * n,
                50 * n,
                value,
                error,
                *(("refused", None, None) if n % 3 == 0 else ("passed", n, bytes([n]) * 32)),
            )
            for n, (value, error) in enumerate(strengths, 1)
        ),
    ]


def drawn(found: list[Point], axis: str, has_refused: bool, begin: int | None = None, end: int | None = None) -> str:
    """The picture of a view."""
    texts = (None if each is None else str(each) for each in (begin, end))
    view = elo_view(found, axis, has_refused, *texts)
    return elo_graph(shown_points(found, view), view)


def test_a_candidate_that_passed_is_not_refused() -> None:
    waiting = Point(99, 10, 9, 50.0, 10.0, "passed", None, None)
    svg = drawn([*points([(10.0, 5.0)]), waiting], ROWS, False)
    assert 'class="refused"' not in svg
    assert "Candidate at entry 99, passed: +50" in svg
    assert "refused" not in svg


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(ELO, st.floats(0, 3000)), max_size=8),
    st.booleans(),
    st.sampled_from((TIME, ROWS)),
    st.none() | st.tuples(st.integers(0, 900), st.integers(0, 900)),
)
def test_the_graph_stays_in_its_frame(
    strengths: list[tuple[float, float]], has_refused: bool, axis: str, part: tuple[int, int] | None
) -> None:
    found = points(strengths)
    begin, end = sorted(part) if part else (None, None)
    svg = drawn(found, axis, has_refused, begin, end)
    view = elo_view(found, axis, has_refused, *(None if each is None else str(each) for each in (begin, end)))
    shown = [point for point in found if has_refused or point.release is not None]
    shown = [point for point in shown if view.shown.has(float((point.rows if axis == ROWS else point.unix_s) or 0))]
    if not shown:
        assert svg == ""
        return
    assert svg.count('class="release"') == sum(point.release is not None for point in shown)
    assert svg.count('class="refused"') == sum(point.release is None for point in shown)
    assert 1 <= svg.count('class="grid"') <= 12
    for name, most in (("x1", WIDTH), ("x2", WIDTH), ("y1", HEIGHT), ("y2", HEIGHT), ("cx", WIDTH), ("cy", HEIGHT)):
        for number in re.findall(rf' {name}="([^"]*)"', svg):
            assert 0 <= float(number) <= most
    assert all(float(x) >= LEFT for x in re.findall(r' cx="([^"]*)"', svg))


def test_time_is_the_axis_only_where_it_is_known() -> None:
    found = points([(10.0, 5.0)])
    assert [axis_of(found, wanted) for wanted in (TIME, ROWS, "x")] == [TIME, ROWS, ROWS]
    assert axis_of([*found, Point(99, None, 9, 1.0, 1.0, "passed", 2, bytes(32))], TIME) == ROWS
