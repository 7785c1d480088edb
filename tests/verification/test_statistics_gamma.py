"""Tail probabilities against closed forms and printed tables."""

from itertools import pairwise
from math import erfc, exp, sqrt

import pytest

from verification.statistics.gamma import chi_squared_tail, gamma_tails, poisson_tail


@pytest.mark.parametrize("x", [1e-6, 0.1, 1.0, 2.9, 3.1, 10.0, 100.0, 700.0, 1400.0])
def test_one_and_two_degrees_have_closed_forms(x: float) -> None:
    assert chi_squared_tail(x, 1) == pytest.approx(erfc(sqrt(x / 2)), rel=1e-11)
    assert chi_squared_tail(x, 2) == pytest.approx(exp(-x / 2), rel=1e-11)


@pytest.mark.parametrize("degrees", [2, 4, 10, 24, 100, 500])
@pytest.mark.parametrize("ratio", [0.2, 0.9, 1.0, 1.1, 2.0, 3.0])
def test_even_degrees_are_a_poisson_sum(degrees: int, ratio: float) -> None:
    half = degrees * ratio / 2
    term = total = exp(-half)
    for k in range(1, degrees // 2):
        term *= half / k
        total += term
    assert chi_squared_tail(2 * half, degrees) == pytest.approx(total, rel=1e-11)
    assert poisson_tail(degrees // 2, half) == pytest.approx(1 - total, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(
    ("degrees", "p", "x"),
    [(1, 0.05, 3.841459), (3, 0.01, 11.344867), (7, 0.001, 24.321886), (30, 0.05, 43.772972), (99, 0.001, 148.230359)],
)
def test_printed_quantiles(degrees: int, p: float, x: float) -> None:
    assert chi_squared_tail(x, degrees) == pytest.approx(p, rel=1e-6)


def test_small_tails_keep_their_digits() -> None:
    assert poisson_tail(3, 1e-4) == pytest.approx(1e-12 / 6 * (1 - 0.75e-4), rel=1e-8)
    assert poisson_tail(30, 1.0) == pytest.approx(
        exp(-1) * (1 + 1 / 31 + 1 / 31 / 32) / 265252859812191058636308480000000, rel=1e-4
    )
    assert chi_squared_tail(1e5, 8) == 0.0


def test_tails_are_halves_of_one_and_fall() -> None:
    for a in (0.5, 3.0, 40.0):
        tails = [gamma_tails(a, x / 4) for x in range(1, 400)]
        assert all(lower + upper == pytest.approx(1.0, abs=1e-12) for lower, upper in tails)
        assert all(u >= v for (_, u), (_, v) in pairwise(tails))


def test_without_freedom_or_count_everything_is_likely() -> None:
    assert chi_squared_tail(12.0, 0) == 1.0
    assert chi_squared_tail(0.0, 5) == 1.0
    assert poisson_tail(0, 3.0) == 1.0
    assert poisson_tail(2, 0.0) == 0.0


def test_what_is_no_distribution_is_refused() -> None:
    for chi2, degrees in ((-1.0, 2), (float("nan"), 2), (1.0, -1)):
        with pytest.raises(ValueError, match="chi-squared"):
            chi_squared_tail(chi2, degrees)
    with pytest.raises(ValueError, match="Poisson"):
        poisson_tail(2, float("inf"))
