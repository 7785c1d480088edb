"""Does one contributor play like all the others? A chi-squared residual over results, lengths and first moves.

Pure. In every stratum (release, config, size, komi) a contributor's games are expected to spread over rows as all games
of the stratum do; observed and expected numbers are then added over strata, row by row for each board size, and compared:
X^2 = sum (O - E)^2 (1/E + 1/E'), E' being what is expected of the others. Rows where E or E' is 5 or less are dropped. In
one stratum this is Pearson's test of two samples; over several it is the simple stratified form (Peto and others 1977),
which is conservative: by concavity of xy/(x+y) no direction has a variance above what its weight assumes. Added over
strata first, short releases tell something too, where each stratum alone would have no row left.

Degrees of freedom: the rows kept, less one for each board size of which no row was dropped.

Whom it flags: z > 7, where z is the largest |O - E| of a row over its exact (hypergeometric) standard deviation, as
fishtest does; or p * families * contributors < 0.001. So 0.001 bounds the chance that one review of an honest run flags
anybody (Bonferroni's correction, safe although the families are dependent). At 0.001 a test instead, each review of 1,000
honest contributors would flag about three, and 100 reviews of fresh games more than a tenth of all. The correction costs
little: with 200 contributors the X^2 that flags rises from 24 to 39 at 7 degrees, so that a difference takes about 1.8 times
as many games to be seen. Reviews over time are not corrected for: they look at growing sums of the same games, and a false
alarm costs replays, nothing else.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

from verification.statistics.gamma import chi_squared_tail
from verification.statistics.profile import Counts, Profile

LEAST_EXPECTED: Final = 5.0
MOST_Z: Final = 7.0
FALSE_ALARM: Final = 0.001

_FAMILIES: Final[Mapping[str, Callable[[Counts], Counter[int]]]] = {
    "results": lambda counts: counts.results,
    "lengths": lambda counts: counts.lengths,
    "first moves": lambda counts: counts.first_moves,
}


@dataclass(frozen=True, slots=True)
class Residual:
    """How far a contributor is from the others in one family; with 0 `degrees` there was too little to compare."""

    family: str
    chi2: float
    degrees: int
    p: float
    z: float

    def is_flagged(self, contributors: int) -> bool:
        """Whether that raises q, when `contributors` are compared."""
        return self.z > MOST_Z or self.p * len(_FAMILIES) * contributors < FALSE_ALARM

    @property
    def severity(self) -> float:
        """By how much it is too far, in units of X^2; positive when flagged. Puts contributors in order."""
        return max(self.chi2 - self.degrees, self.z * self.z)


@dataclass(slots=True)
class _Row:
    observed: int = 0
    expected: float = 0.0
    expected_others: float = 0.0
    variance: float = 0.0


def residuals(own: Profile, pooled: Profile) -> tuple[Residual, ...]:
    """One contributor against all others, one residual a family. `pooled` are the games of all, its own among them."""
    return tuple(_residual(family, counter, own, pooled) for family, counter in _FAMILIES.items())


def review(profiles: Mapping[bytes, Profile]) -> dict[bytes, Residual]:
    """Contributors that differ from the others, each with its worst residual.

    Who is flagged is taken out of the others, most severe first, and all who are left are compared anew: else one who
    plays a large share of all games makes the honest ones look strange. Rounds: those at least half as severe as the
    worst go at once, so that there are few. Of two contributors alone both are flagged or none.
    """
    flagged: dict[bytes, Residual] = {}
    left = dict(profiles)
    while True:
        pooled = Profile.merge(left.values())
        found = {
            peer: worst
            for peer, own in left.items()
            if (worst := _worst(residuals(own, pooled), len(profiles))) is not None
        }
        if not found:
            return flagged
        bound = max(each.severity for each in found.values()) / 2
        for peer, worst in found.items():
            if worst.severity >= bound:
                flagged[peer] = worst
                del left[peer]


def _worst(found: tuple[Residual, ...], contributors: int) -> Residual | None:
    flagged = [each for each in found if each.is_flagged(contributors)]
    return max(flagged, key=lambda each: each.severity, default=None)


def _residual(family: str, counter: Callable[[Counts], Counter[int]], own: Profile, pooled: Profile) -> Residual:
    sizes: dict[int, dict[int, _Row]] = {}
    for stratum, counts in own.strata.items():
        _add_stratum(sizes.setdefault(stratum.size, {}), counter(counts), counter(pooled.strata[stratum]))
    chi2, degrees, z = 0.0, 0, 0.0
    for rows in sizes.values():
        kept = [r for r in rows.values() if min(r.expected, r.expected_others) > LEAST_EXPECTED]
        for row in kept:
            square = (row.observed - row.expected) ** 2
            chi2 += square * (1.0 / row.expected + 1.0 / row.expected_others)
            if row.variance > 0.0:
                z = max(z, sqrt(square / row.variance))
        degrees += max(0, len(kept) - (len(kept) == len(rows)))
    return Residual(family, chi2, degrees, chi_squared_tail(chi2, degrees), z)


def _add_stratum(rows: dict[int, _Row], mine: Counter[int], everyone: Counter[int]) -> None:
    """Adds what is observed and expected in a stratum that others played too."""
    games, total = mine.total(), everyone.total()
    if not 0 < games < total:
        return
    share = games / total
    spread = share * (total - games) / total / (total - 1)
    for key, count in everyone.items():
        row = rows.setdefault(key, _Row())
        row.observed += mine.get(key, 0)
        row.expected += share * count
        row.expected_others += (1.0 - share) * count
        row.variance += spread * count * (total - count)
