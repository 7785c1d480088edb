"""The gate's arithmetic: known outcomes, invariants, and how often equal and better candidates pass."""

from itertools import accumulate, combinations_with_replacement
from math import log, sqrt
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.manifest import GatePolicy
from verification.faults import LogFault
from verification.gate import (
    LLR_BOUND_MICRO,
    NO_PAIRS,
    Gate,
    GateDecision,
    add_pair,
    check_policy,
    decide,
    is_recount,
    likeliest,
    llr,
    llr_micro,
    normalised,
)
from verification.power import _outcome, can_pass, power


def policy(kind: str = "sprt", elo0: int = 0, elo1: int = 50, games: int = 400, **more: int) -> GatePolicy:
    fields = {"win_rate_ppm": 550_000, "replay_ppm": 10**6, "pairs_per_assignment": 4, "release_every_steps": 0, **more}
    return GatePolicy(kind=kind, elo0=elo0, elo1=elo1, games=games, **fields)


def test_all_pairs_won_pass_in_34_games() -> None:
    found = decide([4] * 200, policy())
    assert found.passed is True
    assert 2 * found.pairs == 34


def test_all_pairs_split_are_refused() -> None:
    found = decide([2] * 200, policy())
    assert found.passed is False
    assert found.llr_micro <= -LLR_BOUND_MICRO


def test_all_pairs_lost_are_refused_early() -> None:
    found = decide([0] * 200, policy())
    assert found.passed is False
    assert found.pairs < 20


@pytest.mark.parametrize(("elo1", "games"), [(30, 2000), (20, 2000), (50, 400)])
def test_two_hundred_won_pairs_pass_under_every_bound(elo1: int, games: int) -> None:
    assert decide([4] * 200, policy(elo1=elo1, games=games)).passed is True


def test_without_a_decision_the_cap_refuses() -> None:
    scores = [2, 4, 0, 2] * 5
    found = decide(scores, policy(games=40))
    assert found.pairs == 20
    assert abs(found.llr_micro) < LLR_BOUND_MICRO
    assert found.passed is False
    assert decide(scores[:19], policy(games=40)).passed is None


def test_pairs_after_the_decision_change_nothing() -> None:
    assert decide([4] * 17 + [0] * 100, policy()) == decide([4] * 17, policy())


def test_one_pair_at_a_time_is_the_same_decision() -> None:
    scores = Random(1).choices(range(5), weights=[1, 2, 4, 3, 3], k=200)
    gate = Gate(policy())
    for score in scores:
        if gate.decision.passed is None:
            gate.add(score)
    assert gate.decision == decide(scores, policy())
    with pytest.raises(ValueError, match="decided"):
        gate.add(4)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=5, max_size=5), st.sampled_from([-200, -50, 0, 20, 30, 50, 200]))
def test_likeliest_meets_its_constraint(counts: list[int], nelo: int) -> None:
    total = sum(count or 1e-3 for count in counts)
    shares = [(count or 1e-3) / total for count in counts]
    t = normalised(nelo)
    p = likeliest(shares, t)
    mean = sum(k / 4 * x for k, x in enumerate(p))
    sd = sqrt(sum((k / 4 - mean) ** 2 * x for k, x in enumerate(p)))
    assert min(p) > 0
    assert sum(p) == pytest.approx(1, abs=1e-5)
    assert (mean - 0.5) / sd == pytest.approx(t, abs=1e-5)


def test_likeliest_beats_other_distributions_with_the_same_constraint() -> None:
    """Moves along the constraint away from the maximum lower the likelihood."""
    shares, t = [0.1, 0.2, 0.3, 0.25, 0.15], normalised(50)
    best = likeliest(shares, t)
    value = _log_likelihood(shares, best)
    rng = Random(7)
    for _ in range(200):
        other = likeliest([share * (1 + 0.3 * rng.random()) for share in shares], t)
        total = sum(other)
        assert _log_likelihood(shares, [x / total for x in other]) <= value + 1e-9


def _log_likelihood(shares: list[float], p: list[float]) -> float:
    return sum(q * log(x) for q, x in zip(shares, p, strict=True))


def test_ratio_is_antisymmetric_in_the_scores() -> None:
    counts = (3, 5, 20, 9, 7)
    assert llr(counts, -20, 40) == pytest.approx(-llr(counts[::-1], -40, 20), abs=1e-6)


def test_win_rate_counts_all_games() -> None:
    rule = policy("win-rate", games=20)
    assert decide([4] * 9, rule).passed is None
    assert decide([4, 0, 4, 0, 4, 2, 2, 2, 2, 2], rule).passed is True
    assert decide([4, 0, 4, 0, 2, 2, 2, 2, 2, 2], rule).passed is False


def test_elo_threshold_is_strict_at_the_bound() -> None:
    rule = policy("elo-threshold", elo0=0, elo1=1, games=4)
    assert decide([2, 2], rule).passed is False
    assert decide([2, 4], rule).passed is True
    assert decide([4, 4], rule).passed is True
    high = policy("elo-threshold", elo0=191, elo1=192, games=4)  # three of four games are worth 190.8
    assert decide([4, 2], high).passed is False
    assert decide([4, 2], policy("elo-threshold", elo0=190, elo1=191, games=4)).passed is True


def test_always_passes_without_a_game() -> None:
    assert decide([], policy("always")) == GateDecision(0, NO_PAIRS, 0, True)


def test_bounds_that_do_not_settle_are_refused() -> None:
    check_policy(policy(elo0=-200, elo1=200))
    with pytest.raises(LogFault, match="from -200 to 200"):
        check_policy(policy(elo0=0, elo1=201))
    for elo in (-4000, 4000):
        extreme = policy("elo-threshold", elo0=elo, elo1=elo + 1, games=4)
        check_policy(extreme)
        assert decide([3, 3], extreme).passed is (elo < 0)
    with pytest.raises(LogFault, match="from -4000 to 4000"):
        check_policy(policy("elo-threshold", elo0=2_000_000_000, elo1=2_000_000_001))


def test_recount_allows_two_millionths_and_no_more() -> None:
    scores = [4] * 30
    true = decide(scores, policy())
    near = GateDecision(true.pairs, true.counts, true.llr_micro + 2, True)
    far = GateDecision(true.pairs, true.counts, true.llr_micro + 3, True)
    assert is_recount(true, scores, policy())
    assert is_recount(near, scores, policy())
    assert not is_recount(far, scores, policy())


def test_recount_refuses_another_prefix_or_verdict() -> None:
    scores = [4] * 30
    true = decide(scores, policy())
    counts = add_pair(true.counts, 4)
    later = GateDecision(true.pairs + 1, counts, llr_micro(counts, policy()), True)
    assert not is_recount(later, scores, policy())
    assert not is_recount(GateDecision(true.pairs, true.counts, true.llr_micro, False), scores, policy())
    assert not is_recount(GateDecision(10, NO_PAIRS, 0, True), scores, policy())


def test_assignment_order_keeps_the_error_at_five_percent() -> None:
    """The field's mistake, counting in order of finishing, is what the contiguous prefix is against."""
    found = power(policy(), 0, gates=150)
    assert 0.0 <= found.passed <= 0.10


@pytest.mark.parametrize("kind", ["always", "win-rate", "elo-threshold", "sprt"])
@pytest.mark.parametrize("bounds", [(0, 50), (0, 30), (-200, 200), (190, 200)], ids=str)
@pytest.mark.parametrize("games", [2, 4, 32, 34, 400])
def test_a_gate_can_pass_when_all_pairs_won_pass(kind: str, bounds: tuple[int, int], games: int) -> None:
    gate = policy(kind, *bounds, games=games)
    assert can_pass(gate) is decide([4] * (games // 2), gate).passed


@pytest.mark.parametrize("bounds", [(0, 50), (-200, -150), (-200, 200)], ids=str)
def test_no_scores_tell_more_than_all_pairs_won(bounds: tuple[int, int]) -> None:
    best = llr((0, 0, 0, 0, 4), *bounds)
    for scores in combinations_with_replacement(range(5), 4):
        counts = NO_PAIRS
        for score in scores:
            counts = add_pair(counts, score)
        assert llr(counts, *bounds) <= best


def test_a_hundred_elo_nearly_always_pass() -> None:
    found = power(policy(), 100, gates=60)
    assert found.passed > 0.95
    assert found.games < 160


def test_simulation_uses_the_gates_own_decision() -> None:
    rng = Random(3)
    for wins in (0.5, 0.55, 0.62, 0.9, 1.0):
        scores = [2 * ((rng.random() < wins) + (rng.random() < wins)) for _ in range(200)]
        found = decide(scores, policy())
        assert _outcome(scores, policy()) == (bool(found.passed), found.pairs)


def test_counts_add_up() -> None:
    scores = [0, 4, 4, 1, 2, 3, 4]
    *_, last = accumulate(scores, add_pair, initial=NO_PAIRS)
    assert last == (1, 1, 1, 1, 3)
