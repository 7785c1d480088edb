"""What became of an adversary: one run each, and the row that all its runs amount to.

A *poisoned game* is a wrong game in a batch that was released to training, whether it was purged later or not: the most that
a window could have taken. *Batches until*: the adversary's batches from its first wrong one up to the entry that ended it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, median, pstdev
from typing import Any

from benchmarks.adversaries.laws import Law, agrees

CAUGHT = "caught"
REFUSED = "refused"
BOUNDED = "bounded"
NOTICED = "noticed"

SIGMAS = 3.3
"""As many standard errors as the laws' interval of 99.9 % is wide, where only a mean is known."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is spent: `runs` of a statistical adversary, `real` ones with games that are played and replayed."""

    runs: int = 1000
    real: int = 10
    is_quick: bool = False

    def share(self, part: int) -> int:
        """The runs of an adversary whose lives are `part` times as long as the others'."""
        return max(min(10, self.runs), self.runs // part)


@dataclass(frozen=True, slots=True)
class Run:
    """One life of an adversary: after how many batches it was ended, if it was; what it put into training; what it cost."""

    batches: int | None
    poisoned: int = 0
    replayed_games: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """All runs of an adversary. `bound`: the formula's mean of poisoned games; `agrees`: whether the measured mean lies in
    its interval, None where the formula is an upper bound only."""

    name: str
    kind: str
    policy: str
    how: str
    runs: int
    caught: float
    batches_until: float | None
    poisoned_games: float
    bound: float
    within_bound: bool
    agrees: bool | None
    verifier_games: float
    reason: str

    def json(self) -> dict[str, Any]:
        """The row as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}

    def cells(self) -> tuple[str, ...]:
        """The row as it stands in the page's table."""
        until = "-" if self.batches_until is None else f"{self.batches_until:g}"
        fits = {True: "yes", False: "NO", None: "below" if self.within_bound else "NO"}[self.agrees]
        caught = percent(self.caught)
        cost = f"{self.verifier_games:.3g}"
        poison, bound = f"{self.poisoned_games:.2f}", f"{self.bound:.2f}"
        return self.name, self.policy, self.how, str(self.runs), caught, until, poison, bound, fits, cost, self.reason


def percent(share: float) -> str:
    """A share as it is printed."""
    return f"{100 * share:.3g} %"


HEADINGS = (
    *("adversary", "policy", "outcome", "runs", "caught", "batches until", "poisoned games", "theory", "agrees"),
    *("verifier cost", "reason"),
)


def summary(
    name: str, kind: str, policy: str, how: str, runs: Sequence[Run], theory: Law | float, is_bound: bool = False
) -> Row:
    """The row of at least one run. A number as `theory` is a mean of unknown law; with `is_bound` it is an upper bound."""
    found = [run.poisoned for run in runs]
    measured, expected = mean(found), theory.mean if isinstance(theory, Law) else theory
    error = SIGMAS * pstdev(found) / sqrt(len(runs)) + 1e-9
    if isinstance(theory, Law):
        does_agree = agrees(measured, theory, len(runs))
        below = does_agree or measured <= expected
    else:
        does_agree, below = abs(measured - expected) <= error, measured <= expected + error
    ended = [run.batches for run in runs if run.batches is not None]
    reasons = sorted({run.reason for run in runs if run.reason})
    return Row(
        name=name,
        kind=kind,
        policy=policy,
        how=how,
        runs=len(runs),
        caught=len(ended) / len(runs),
        batches_until=median(ended) if ended else None,
        poisoned_games=measured,
        bound=expected,
        within_bound=below,
        agrees=None if is_bound else does_agree,
        verifier_games=mean(run.replayed_games for run in runs),
        reason=", ".join(reasons),
    )
