"""How often a gate passes a candidate of a given strength: by simulation, for people who choose a gate policy.

Spec: `docs/spec/gate.md` ("Power"). A model, not a rule: games are independent, without draws, and both sides of a pair have
the same chances. Deterministic for a seed.
"""

from dataclasses import dataclass
from math import sqrt
from random import Random

from protocol.manifest import GatePolicy
from verification.gate import LLR_BOUND_MICRO, NO_PAIRS, add_pair, cap_pairs, decide, llr_micro, normalised

# The usual closed form, (t1 - t0)(2 (mean - 1/2) - (t0 + t1) sd) n / (2 sd), tells well enough where the ratio is far from
# its bounds: only where it is above 90 % of one is the exact ratio computed.
_NEAR = 2 * 0.9 * LLR_BOUND_MICRO / 1e6


@dataclass(frozen=True, slots=True)
class Power:
    """Of simulated candidates of `elo`: the share that passed, and how many games their gates took on average."""

    elo: int
    passed: float
    games: float


def power(policy: GatePolicy, elo: int, gates: int = 200, seed: int = 0) -> Power:
    """Simulates gates of candidates that are `elo` (logistic Elo) stronger than the base."""
    rng = Random(f"{seed} {elo}")
    wins = 1.0 / (1.0 + 10.0 ** (-elo / 400.0))
    passed = games = 0
    for _ in range(gates):
        scores = [2 * ((rng.random() < wins) + (rng.random() < wins)) for _ in range(cap_pairs(policy))]
        verdict, pairs = _outcome(scores, policy)
        passed += verdict
        games += 2 * pairs
    return Power(elo, passed / gates, games / gates)


def describe_power(policy: GatePolicy, gates: int = 200) -> str:
    """The policy's power at 0, 20, 50, 100 and 200 Elo, one line each."""
    if policy.kind == "always":
        return "Every candidate passes."
    found = [power(policy, elo, gates) for elo in (0, 20, 50, 100, 200)]
    return "\n".join(f"{each.elo:+4d} Elo: passes {each.passed:4.0%}, {each.games:5.0f} games" for each in found)


def can_pass(policy: GatePolicy) -> bool:
    """Whether a candidate that wins every game passes: if it does not, none does, since no scores of pairs tell more.

    Only the test may refuse it: pairs won add to its ratio, so that the longest prefix tells of all.
    """
    return policy.kind != "sprt" or llr_micro((0, 0, 0, 0, cap_pairs(policy)), policy) >= LLR_BOUND_MICRO


def _outcome(scores: list[int], policy: GatePolicy) -> tuple[bool, int]:
    """What `decide` gives, with the exact ratio computed only where it may have reached a bound."""
    if policy.kind != "sprt":
        decision = decide(scores, policy)
        return bool(decision.passed), decision.pairs
    t0, t1 = normalised(policy.elo0), normalised(policy.elo1)
    counts = NO_PAIRS
    total = squares = 0
    for pairs, score in enumerate(scores, 1):
        counts = add_pair(counts, score)
        total += score
        squares += score * score
        mean = total / (4 * pairs)
        sd = sqrt(max(0.0, squares / (16 * pairs) - mean * mean))
        drift = (t1 - t0) * (2 * (mean - 0.5) - (t0 + t1) * sd)
        if abs(drift) * pairs < _NEAR * sd:
            continue
        micro = llr_micro(counts, policy)
        if abs(micro) >= LLR_BOUND_MICRO:
            return micro > 0, pairs
    return False, len(scores)
