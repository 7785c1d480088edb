"""Tail probabilities of the chi-squared and Poisson distributions, by the regularised incomplete gamma functions.

Source: Abramowitz and Stegun 6.5.29 (series) and 6.5.31 (continued fraction, evaluated by Lentz's method). Each tail is
computed where it is small without subtracting from 1, so that tiny probabilities keep their digits (relative error about
1e-12 down to 1e-300; below that 0).
"""

from math import exp, inf, lgamma, log
from typing import Final

_CLOSE: Final = 1e-15
_TINY: Final = 1e-300
_TERMS: Final = 100_000


def chi_squared_tail(chi2: float, degrees: int) -> float:
    """P(X >= chi2) for a chi-squared X with `degrees` of freedom; 1 for degrees = 0."""
    if degrees < 0 or not chi2 >= 0.0:
        raise ValueError(f"no chi-squared distribution has {chi2} at {degrees} degrees of freedom")
    if degrees == 0 or chi2 == 0.0:
        return 1.0
    return gamma_tails(degrees / 2.0, chi2 / 2.0)[1]


def poisson_tail(count: int, mean: float) -> float:
    """P(X >= count) for a Poisson X with `mean`."""
    if not 0.0 <= mean < inf:
        raise ValueError(f"no Poisson distribution has mean {mean}")
    if count <= 0:
        return 1.0
    return gamma_tails(float(count), mean)[0] if mean > 0.0 else 0.0


def gamma_tails(a: float, x: float) -> tuple[float, float]:
    """The regularised lower and upper incomplete gamma functions P(a, x) and Q(a, x), for a > 0 and x > 0."""
    scale = a * log(x) - x - lgamma(a)
    front = exp(scale) if scale > -745.0 else 0.0
    if x < a + 1.0:
        lower = front * _series(a, x)
        return lower, 1.0 - lower
    upper = front * _fraction(a, x)
    return 1.0 - upper, upper


def _series(a: float, x: float) -> float:
    """sum x^k / (a (a+1) ... (a+k)), whose terms fall from the first on."""
    term = total = 1.0 / a
    for k in range(1, _TERMS):
        term *= x / (a + k)
        total += term
        if term <= total * _CLOSE:
            break
    return total


def _fraction(a: float, x: float) -> float:
    """1 / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), from the front."""
    b = x + 1.0 - a
    c, d = 1.0 / _TINY, 1.0 / b
    value = d
    for k in range(1, _TERMS):
        step = k * (a - k)
        b += 2.0
        d = 1.0 / (_away(b + step * d))
        c = _away(b + step / c)
        value *= c * d
        if abs(c * d - 1.0) <= _CLOSE:
            break
    return value


def _away(number: float) -> float:
    """`number`, moved away from a zero that would be divided by."""
    return number if abs(number) > _TINY else _TINY
