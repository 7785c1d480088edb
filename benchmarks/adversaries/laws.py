"""Laws of what one run of an adversary counts, and whether the mean over many runs agrees with one.

The counts here are far from normal: most runs release nothing wrong and a few release twenty games. So the interval is
that of the exact law of the sum over all runs, by a Fourier transform of its chances, and no approximation.
"""

from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from typing import Final

import numpy as np

LEVEL: Final = 0.999
REST: Final = 1e-13
"""What is left out at the end of a law without end."""


@dataclass(frozen=True, slots=True)
class Law:
    """`chances[n]` is the chance that a run counts n; they sum to 1."""

    chances: tuple[float, ...]

    def __post_init__(self) -> None:
        if min(self.chances, default=-1.0) < 0 or abs(sum(self.chances) - 1) > 1e-9:
            raise ValueError("The chances of a law are from 0 to 1 and sum to 1.")

    @property
    def mean(self) -> float:
        """What a run counts on average."""
        return sum(n * chance for n, chance in enumerate(self.chances))

    @property
    def deviation(self) -> float:
        """Standard deviation of one run's count."""
        mean = self.mean
        return sqrt(sum((n - mean) ** 2 * chance for n, chance in enumerate(self.chances)))

    def interval(self, runs: int, level: float = LEVEL) -> tuple[float, float]:
        """Least and largest mean over `runs` independent runs, each left with a chance of at most (1 - level) / 2.

        The sum's law is the law's `runs`-fold convolution: the transform of its chances to that power, on a grid so
        wide that what wraps around is below 1e-12.
        """
        widest = runs * self.mean + 15 * sqrt(runs) * self.deviation + 2 * len(self.chances) + 64
        size = 1 << ceil(log(widest, 2))
        sums = np.fft.irfft(np.fft.rfft(np.array(self.chances), size) ** runs, size)
        below = np.cumsum(np.maximum(sums, 0.0))
        half = (1 - level) / 2
        least = int(np.searchsorted(below, half, side="right"))
        most = int(np.searchsorted(below, 1 - half, side="left"))
        return least / runs, min(most, size - 1) / runs


def chance(p: float) -> Law:
    """1 with chance p, else 0: whether something happens in a run."""
    return Law((1 - p, p))


def count(mean: float) -> Law:
    """Poisson's law: how many of many independent rare things happen."""
    chances, each, n = [], exp(-mean), 0
    if each == 0.0:
        raise ValueError("Poisson's law is for means below 700.")
    while n <= mean or each > REST:
        chances.append(each)
        n += 1
        each *= mean / n
    return _whole(chances)


def tries(p: float) -> Law:
    """How many tries it takes until the first that ends with chance p; from 1 on."""
    if not 0 < p <= 1:
        raise ValueError("A try ends with a chance above 0.")
    chances, left = [0.0], 1.0
    while left > REST and len(chances) < 2**22:
        chances.append(left * p)
        left *= 1 - p
    return _whole(chances)


def agrees(measured: float, expected: Law | float, runs: int, level: float = LEVEL) -> bool:
    """Whether a mean over `runs` runs lies in the `level` interval of a law; a number is the mean of Poisson's law."""
    least, most = (expected if isinstance(expected, Law) else count(expected)).interval(runs, level)
    return least - 1e-9 <= measured <= most + 1e-9


def _whole(chances: list[float]) -> Law:
    total = sum(chances)
    return Law(tuple(each / total for each in chances))
