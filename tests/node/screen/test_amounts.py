"""Times, rates and sizes as they are shown."""

import pytest

from node.screen.amounts import duration, rate, size


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-3, "0s"),
        (0.9, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (3599, "59m"),
        (3600, "1h00m"),
        (11_520, "3h12m"),
        (190_000, "2d4h"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("per_s", "shown"), [(0.0, "0.00"), (0.424, "0.42"), (0.999, "1.0"), (7.26, "7.3"), (9.99, "10"), (1203.7, "1,204")]
)
def test_rates(per_s: float, shown: str) -> None:
    assert rate(per_s) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_600, "1.0 MB"), (1_234_567, "1.2 MB"), (34_560_000, "35 MB")],
)
def test_sizes(count: int, shown: str) -> None:
    assert size(count) == shown
