"""Does a contributor submit only what it likes? What it submitted against what others filled in for it.

Pure. Somebody may play the first games of a release and submit them only if their results please. Then the games that others
play from the seeds that it left differ from those that it submitted. Everything is compared with the mean of the same
stratum, so that releases count in which it submitted nothing; `others` (games of other contributors) make these means
exact, and without them only strata with games of both kinds tell anything.

T = mean over submitted of (x - mean of its stratum) - mean over filled of the same; its variance is that of a random
assignment of the stratum's games to the three groups, sum_s SS_s / (N_s - 1) sum_i (a_i - mean a)^2, with a game's weight
a_i = 1/n if submitted, -1/m if filled, else 0. Exact for any distribution; integers until the last step.
"""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Final, NamedTuple

from verification.statistics.profile import Counts, Moments, Profile

MOST_TAIL_Z: Final = 5.0
LEAST_GAMES: Final = 64
"""Of each kind: with fewer, one game of unusual length could be far from any normal distribution."""

NOTHING: Final = Profile()
_ABSENT: Final = Counts.merge(())
_MEASURES: Final[Mapping[str, Callable[[Counts], Moments]]] = {
    "result": lambda counts: counts.black_result,
    "length": lambda counts: counts.moves,
    "score": lambda counts: counts.score_half,
}


class TailDifference(NamedTuple):
    """The measure in which submitted and filled games differ most, and by how many standard deviations; above 0 when the
    submitted ones have more of it (better for black, longer)."""

    measure: str
    z: float

    @property
    def restarts(self) -> bool:
        """Whether that restarts probation."""
        return abs(self.z) > MOST_TAIL_Z


def tail_z(submitted: Profile, filled: Profile, others: Profile = NOTHING) -> TailDifference:
    """Compares what one identity submitted with what others filled in for it; the three profiles share no game.

    The z of a measure without variance is 0, as are all with fewer than `LEAST_GAMES` games of a kind.
    """
    found = [TailDifference(name, _z(of, submitted, filled, others)) for name, of in _MEASURES.items()]
    return max(found, key=lambda each: abs(each.z))


def _z(of: Callable[[Counts], Moments], submitted: Profile, filled: Profile, others: Profile) -> float:
    n, m = submitted.games, filled.games
    if min(n, m) < LEAST_GAMES:
        return 0.0
    difference = variance = 0.0
    for stratum in submitted.strata.keys() | filled.strata.keys():
        groups = [profile.strata.get(stratum, _ABSENT) for profile in (submitted, filled, others)]
        own, gap, _ = sizes = [counts.games for counts in groups]
        games = sum(sizes)
        if games < 2:
            continue
        moments = [of(counts) for counts in groups]
        total, squares = Moments.merge(moments)
        spread = (games * squares - total * total) / games / (games - 1)
        mean = total / games
        weight = (own / n - gap / m) / games
        difference += (moments[0].total - own * mean) / n - (moments[1].total - gap * mean) / m
        variance += spread * (own / n**2 + gap / m**2 - games * weight * weight)
    return difference / sqrt(variance) if variance > 1e-18 else 0.0
