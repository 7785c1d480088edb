"""The window's size and content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.manifest import WindowPolicy
from tests.verification.world import World
from verification.window import is_due, rows_missing, window_of, window_rows

POLICY = WindowPolicy(first_rows=1000, new_rows=500, floor_rows=1000, exponent_ppm=650_000)


@pytest.mark.parametrize(("total", "rows"), [(0, 0), (999, 999), (1000, 1000), (2000, 1569), (10**6, 89125)])
def test_growth_law(total: int, rows: int) -> None:
    assert window_rows(total, POLICY) == rows


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.integers(1, 10**6))
def test_size_lies_between_floor_and_all(total: int, exponent: int, floor: int) -> None:
    rows = window_rows(total, WindowPolicy(first_rows=1, new_rows=1, floor_rows=floor, exponent_ppm=exponent))
    assert min(floor, total) <= rows + 1
    assert rows <= total


def test_when_a_window_is_due() -> None:
    assert not is_due(999, None, POLICY)
    assert is_due(1000, None, POLICY)
    assert not is_due(1499, 1000, POLICY)
    assert is_due(1500, 1000, POLICY)
    assert rows_missing(1200, 1000, POLICY) == 300
    assert rows_missing(2000, 1000, POLICY) == 0


def test_whole_batches_newest_first(grown: World) -> None:
    released = grown.state.batches.released
    policy = WindowPolicy(first_rows=1, new_rows=1, floor_rows=released[-1].header.plies + 1, exponent_ppm=0)
    window = window_of(released, policy)
    assert window.batches == released[-2:]
    assert window.rows == sum(batch.header.plies for batch in released[-2:])
    assert window.total_rows == sum(batch.header.plies for batch in released)


def test_logged_windows_were_recomputed_from_their_prefix(grown: World) -> None:
    for info in grown.state.windows:
        known = [b for b in grown.state.batches.released if b.released_at is not None and b.released_at < info.index]
        assert window_of(known, grown.manifest.window).headers == info.record.headers
