"""Decides a gate: the exact pentanomial sequential test over pairs, and the manifest's other policies.

Spec: `docs/spec/gate.md`. Pure functions of the scores of pairs in order of pair number, so that every auditor recomputes
the verdict. Bounds are in normalised Elo (Van den Bergh, "Normalized Elo"); the likelihoods are the exact maximum over
pentanomial distributions with a given (mean - 1/2) / sd, because the usual closed form in mean and variance refuses a
candidate that wins every game.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from math import log, sqrt
from typing import Final

from protocol.manifest import GatePolicy, TrainingPolicy
from protocol.window import RoundingReport
from verification.faults import LogFault

Counts = tuple[int, int, int, int, int]
NO_PAIRS: Final[Counts] = (0, 0, 0, 0, 0)

LLR_BOUND_MICRO: Final = 2_944_000
"""Where the test stops, for errors of 5 % each."""
TOLERANCE_MICRO: Final = 2
"""How far a recount of the log-likelihood ratio may be from the logged one."""

MAX_ELO: Final = 200
"""Bounds in normalised Elo beyond which the fixed point of `likeliest` is not known to settle."""
MAX_THRESHOLD: Final = 4000
"""Ordinary Elo of the threshold policy: beyond it no score could tell."""

_SCORES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_EMPTY: Final = 1e-3
_NELO_SCALE: Final = 347.4
_CLOSE: Final = 1e-10
_ROUNDS: Final = 1000
_DECIMAL: Final = Context(prec=40)


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The outcome on the contiguous prefix of `pairs`; `passed` is None while the gate is open."""

    pairs: int
    counts: Counts
    llr_micro: int
    passed: bool | None


REFUSED: Final = GateDecision(0, NO_PAIRS, 0, False)
"""The decision on a candidate that no pair is played for."""


def is_refused_by_rounding(found: RoundingReport, policy: TrainingPolicy) -> bool:
    """Whether a candidate lost more by rounding than the manifest allows: its gate refuses it without a game."""
    return (
        found.policy_divergence_micro > policy.most_policy_divergence_micro
        or found.value_error_micro > policy.most_value_error_micro
        or found.same_move_ppm < policy.least_same_move_ppm
    )


def check_policy(policy: GatePolicy) -> None:
    """Raises LogFault for bounds that the policy's arithmetic is not made for."""
    if policy.kind == "sprt" and not -MAX_ELO <= policy.elo0 < policy.elo1 <= MAX_ELO:
        raise LogFault(f"The gate's bounds must lie from -{MAX_ELO} to {MAX_ELO} normalised Elo.")
    if policy.kind == "elo-threshold" and not -MAX_THRESHOLD <= policy.elo0 <= MAX_THRESHOLD:
        raise LogFault(f"The gate's threshold must lie from -{MAX_THRESHOLD} to {MAX_THRESHOLD} Elo.")


def add_pair(counts: Counts, score: int) -> Counts:
    """The counts with one more pair of `score` quarters (0 to 4)."""
    return tuple(count + (k == score) for k, count in enumerate(counts))  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def llr(counts: Counts, elo0: int, elo1: int) -> float:
    """The log-likelihood ratio of normalised Elo `elo1` against `elo0`; counts[k] pairs scored k/4, 0.0 without pairs."""
    if not any(counts):
        return 0.0
    weights = [count or _EMPTY for count in counts]
    total = sum(weights)
    shares = [weight / total for weight in weights]
    p0 = likeliest(shares, normalised(elo0))
    p1 = likeliest(shares, normalised(elo1))
    return sum(n * log(b / a) for n, a, b in zip(weights, p0, p1, strict=True))


def normalised(nelo: float) -> float:
    """Normalised Elo as (mean - 1/2) / sd of a pair's score."""
    return sqrt(2.0) * nelo / _NELO_SCALE


def likeliest(shares: Sequence[float], t: float) -> list[float]:
    """The most likely distribution over pair scores with (mean - 1/2) / sd = t, given the observed `shares` (all above 0).

    A fixed point, started from the uniform distribution and ended when no probability moves by 1e-10.
    """
    p = [0.2] * 5
    for _ in range(_ROUNDS):
        mean = sum(a * x for a, x in zip(_SCORES, p, strict=True))
        sd = sqrt(sum((a - mean) ** 2 * x for a, x in zip(_SCORES, p, strict=True)))
        v = [a - 0.5 - t * sd * (1.0 + ((mean - a) / sd) ** 2) / 2.0 for a in _SCORES]
        x = _root(shares, v)
        q = [share / (1.0 + x * each) for share, each in zip(shares, v, strict=True)]
        moved = max(abs(a - b) for a, b in zip(p, q, strict=True))
        p = q
        if moved < _CLOSE:
            break
    return p


def _root(shares: Sequence[float], v: Sequence[float]) -> float:
    """The x with sum q v / (1 + x v) = 0 and every 1 + x v above 0: Newton's method, kept inside a shrinking bracket."""
    low, high = -1.0 / max(v), -1.0 / min(v)
    x = 0.0
    for _ in range(200):
        value = slope = 0.0
        for q, each in zip(shares, v, strict=True):
            part = each / (1.0 + x * each)
            value += q * part
            slope += q * part * part
        if value > 0.0:  # the sum falls from +inf to -inf between the ends
            low = x
        else:
            high = x
        step = x + value / slope
        if not low < step < high:
            step = (low + high) / 2.0
        if abs(step - x) <= 1e-15 * max(1.0, abs(x)):
            return step
        x = step
    return x


def decide(scores: Sequence[int], policy: GatePolicy) -> GateDecision:
    """The decision on pair scores (0 to 4 quarters each, in order of pair number) under `policy`.

    The first prefix that decides counts; pairs after it change nothing. An undecided test at the cap refuses.
    """
    state = Gate(policy)
    for score in scores:
        if state.decision.passed is not None:
            break
        state.add(score)
    return state.decision


class Gate:
    """The same decision, one pair at a time."""

    __slots__ = ("_policy", "decision")

    def __init__(self, policy: GatePolicy) -> None:
        self._policy = policy
        self.decision = GateDecision(0, NO_PAIRS, 0, True if policy.kind == "always" else None)

    def add(self, score: int) -> None:
        """Counts the next pair; ValueError once the gate is decided."""
        if self.decision.passed is not None:
            raise ValueError("the gate is decided")
        counts = add_pair(self.decision.counts, score)
        pairs = self.decision.pairs + 1
        self.decision = GateDecision(pairs, counts, llr_micro(counts, self._policy), _passed(counts, self._policy))


def llr_micro(counts: Counts, policy: GatePolicy) -> int:
    """The log-likelihood ratio in millionths; 0 under policies that do not test."""
    return round(llr(counts, policy.elo0, policy.elo1) * 1e6) if policy.kind == "sprt" else 0


def cap_pairs(policy: GatePolicy) -> int:
    """How many pairs a gate may play."""
    return 0 if policy.kind == "always" else policy.games // 2


def is_recount(logged: GateDecision, scores: Sequence[int], policy: GatePolicy) -> bool:
    """Whether a logged decision is what `scores` give, up to `TOLERANCE_MICRO` in the log-likelihood ratio."""
    ours = decide(scores, policy)
    if logged == ours:
        return True
    if policy.kind != "sprt" or logged.passed is None or not 0 < logged.pairs <= len(scores):
        return False
    edge = LLR_BOUND_MICRO - TOLERANCE_MICRO
    counts = NO_PAIRS
    for pairs, score in enumerate(scores[: logged.pairs], 1):
        counts = add_pair(counts, score)
        if pairs < logged.pairs and abs(llr_micro(counts, policy)) > LLR_BOUND_MICRO + TOLERANCE_MICRO:
            return False
    if counts != logged.counts or abs(llr_micro(counts, policy) - logged.llr_micro) > TOLERANCE_MICRO:
        return False
    if logged.passed:
        return logged.llr_micro >= edge
    return logged.llr_micro <= -edge or logged.pairs == cap_pairs(policy)


def _passed(counts: Counts, policy: GatePolicy) -> bool | None:
    full = sum(counts) >= cap_pairs(policy)
    if policy.kind == "sprt":
        micro = llr_micro(counts, policy)
        if abs(micro) >= LLR_BOUND_MICRO:
            return micro > 0
        return False if full else None
    if not full:
        return None
    score = sum(k * count for k, count in enumerate(counts))
    most = 4 * sum(counts)
    if policy.kind == "win-rate":
        return score * 10**6 >= policy.win_rate_ppm * most
    return most == score or Decimal(score) / Decimal(most - score) > _odds(policy.elo0)


def _odds(elo: int) -> Decimal:
    """10^(elo/400) from correctly rounded steps, so that every machine agrees."""
    return _DECIMAL.exp(_DECIMAL.divide(_DECIMAL.multiply(_DECIMAL.ln(Decimal(10)), Decimal(elo)), Decimal(400)))
