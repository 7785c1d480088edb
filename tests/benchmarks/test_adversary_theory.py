"""The formulas of adversaries, each against what it describes, played many times by dice; and the design's numbers."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isclose
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator

from benchmarks.adversaries import theory
from benchmarks.adversaries.laws import Law, agrees, chance, count, tries
from node.founding.manifest_file import load_manifest

RUNS = 4000
Q = 0.05


@pytest.fixture
def dice() -> Generator:
    return np.random.default_rng(5)


def play(
    dice: Generator, wrong: Callable[[int], int], w: int, q: float = Q, second: float = 0.0, batches: int = 10**6
) -> tuple[int, int, bool]:
    """One identity, batch after batch, until one is found or `batches` are there: what was released, batches, found."""
    held: list[int] = []
    released = 0
    for batch in range(batches):
        games = wrong(batch)
        judges = 1 + (dice.random() < second)
        if games and (dice.random(games * judges) < q).any():
            return released, batch + 1, True
        held.append(games)
        if len(held) > w:
            released += held.pop(0)
    return released, batches, False


def mean_of(numbers: list[int] | list[bool]) -> float:
    return sum(numbers) / len(numbers)


# ---- laws


def test_an_interval_holds_what_it_says(dice: Generator) -> None:
    law = Law((0.9, 0.0, 0.06, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.04))
    least, most = law.interval(50, 0.9)
    means = dice.choice(len(law.chances), p=law.chances, size=(20_000, 50)).mean(axis=1)
    assert 0.9 <= ((least <= means) & (means <= most)).mean() < 0.95  # whole numbers: a little more than asked for
    assert (means < least).mean() <= 0.055
    assert (means > most).mean() <= 0.055


def test_agreement_is_refused_outside_the_interval() -> None:
    assert agrees(0.05, chance(0.05), 1000)
    assert not agrees(0.08, chance(0.05), 1000)
    assert not agrees(0.025, chance(0.05), 1000)
    assert agrees(2.0, 2.0, 100)
    assert not agrees(3.0, 2.0, 100)
    assert agrees(0.0, chance(0.0), 1000)
    assert not agrees(0.001, chance(0.0), 1000)


def test_known_intervals() -> None:
    # Exact 95 % limits of 20 flips of a fair coin: 6 and 14; of a Poisson count with mean 4: 1 and 8.
    assert chance(0.5).interval(20, 0.95) == (6 / 20, 14 / 20)
    assert count(4.0).interval(1, 0.95) == (1.0, 8.0)


def test_laws_have_their_means_and_deviations() -> None:
    assert isclose(chance(0.3).deviation ** 2, 0.21)
    assert isclose(count(2.5).mean, 2.5)
    assert isclose(count(2.5).deviation ** 2, 2.5)
    assert isclose(tries(0.05).mean, 20)
    assert isclose(tries(0.05).deviation ** 2, 0.95 / 0.05**2, rel_tol=1e-6)


def test_what_is_no_law_is_refused() -> None:
    for make in (
        lambda: Law((0.5, 0.6)),
        lambda: Law((-0.1, 1.1)),
        lambda: Law(()),
        lambda: tries(0.0),
        lambda: count(1e4),
    ):
        with pytest.raises(ValueError, match=r"law|try"):
            make()
    with pytest.raises(ValueError, match="found"):
        theory.released_law(1.0, 3)


# ---- the design's numbers


def test_the_designs_bounds() -> None:
    assert f"{theory.poison_continuous(Q, 50):.2f}" == "1.46"
    assert f"{theory.poison_continuous(Q, 100):.2f}" == "0.11"
    assert isclose(theory.poison_bound(Q), 19)
    assert theory.poison_probation() == 0


def test_one_wrong_game_a_batch_is_the_worst_of_the_continuous() -> None:
    for w in (1, 4, 50, 100):
        assert all(theory.poison_continuous(Q, w) > theory.poison_continuous(Q, w, m) for m in range(2, 33))


def test_no_strategy_beats_the_bound() -> None:
    bound = theory.poison_bound(Q) + 1e-9
    for w in (0, 4, 100):
        for number in range(1, 33):
            assert theory.poison_continuous(Q, w, number) <= bound
            assert theory.poison_patient(Q, w, number, 32).games <= bound
            assert theory.poison_patient(Q, w, w + 1, 32, number).games <= bound
            assert theory.poison_bursts(Q, w, number, 32).games <= bound
            assert theory.poison_exit(Q, 0.2, number, w) <= bound


def test_hold_back_does_not_stop_who_waits() -> None:
    assert isclose(theory.poison_patient(Q, 100, 101, 32).games, theory.poison_bound(Q))
    assert theory.poison_patient(Q, 100, 101, 32).share == 1 / (101 * 32)
    assert theory.poison_patient(Q, 100, 1, 32).games == theory.poison_continuous(Q, 100)
    assert isclose(theory.poison_bursts(Q, 100, 1, 32).games, theory.poison_bound(Q))


def test_exits_exceed_the_continuous_bound_unless_nearly_all_is_drawn() -> None:
    assert theory.worst_exit(Q, 0.2, 100) == (4, pytest.approx(1.334, abs=1e-3))
    assert theory.worst_exit(Q, 0.9, 100)[1] < theory.poison_continuous(Q, 100)
    assert theory.worst_exit(Q, 1.0, 100)[1] == 0


# ---- contributors, by dice


@pytest.mark.parametrize(("w", "m", "second"), [(4, 1, 0.0), (4, 3, 0.0), (20, 1, 0.1), (0, 2, 0.1)])
def test_continuous(dice: Generator, w: int, m: int, second: float) -> None:
    law = theory.continuous_law(Q, w, m, second)
    assert isclose(law.mean, theory.poison_continuous(Q, w, m, second), abs_tol=1e-6)
    found = [play(dice, lambda _: m, w, second=second) for _ in range(RUNS)]
    assert agrees(mean_of([released for released, _, _ in found]), law, RUNS)
    until = tries(theory.caught_per_batch(Q, m, second))
    assert agrees(mean_of([batches for _, batches, _ in found]), until, RUNS)


def test_the_sampling_error_shows_a_wrong_formula(dice: Generator) -> None:
    found = mean_of([play(dice, lambda _: 1, 20)[0] for _ in range(RUNS)])
    assert agrees(found, theory.continuous_law(Q, 20), RUNS)
    assert not agrees(found, theory.continuous_law(Q, 19 - 2), RUNS)
    assert not agrees(found, theory.continuous_law(Q, 20, second=0.1), RUNS)


def test_q_decays_after_probation(dice: Generator) -> None:
    assert [theory.q_after(n, 10, Q) for n in (0, 10, 20, 100, 200, 999)] == [1.0, 1.0, 0.5, 0.1, 0.05, 0.05]
    assert theory.poison_decaying(10, Q, 100, 10) == 0
    assert isclose(theory.poison_decaying(10, Q, 100, 200), theory.poison_continuous(Q, 100))
    expected = theory.poison_decaying(3, 0.2, 2, 6)  # q: 0.5, 3/7, ... 0.2
    released = []
    for _ in range(RUNS):
        passed, n = 0, 6
        while dice.random() >= theory.q_after(n, 3, 0.2):
            passed, n = passed + 1, n + 1
        released.append(max(0, passed - 2))
    deviation = float(np.std(released)) / RUNS**0.5
    assert abs(mean_of(released) - expected) < 4 * deviation
    assert expected > 5 * deviation


@pytest.mark.parametrize(("w", "spacing", "m"), [(8, 3, 1), (8, 9, 1), (5, 2, 4)])
def test_patient(dice: Generator, w: int, spacing: int, m: int) -> None:
    expected, law = theory.poison_patient(Q, w, spacing, 8, m), theory.patient_law(Q, w, spacing, m)
    assert isclose(law.mean, expected.games, abs_tol=1e-6)
    found = [play(dice, lambda batch: m if (batch + 1) % spacing == 0 else 0, w) for _ in range(RUNS)]
    assert agrees(mean_of([released for released, _, _ in found]), law, RUNS)
    assert agrees(mean_of([batches // spacing for _, batches, _ in found]), tries(theory.caught_per_batch(Q, m)), RUNS)
    assert isclose(expected.batches, spacing * tries(theory.caught_per_batch(Q, m)).mean)


def test_bursts(dice: Generator) -> None:
    w, burst = 6, 4
    expected, law = theory.poison_bursts(Q, w, burst, 8), theory.bursts_law(Q, burst)
    assert isclose(law.mean, expected.games, abs_tol=1e-6)
    found = [play(dice, lambda batch: batch % (burst + w) < burst, w) for _ in range(RUNS)]
    # The pause releases the burst; a find in the first batches of the next one keeps none of the last back.
    assert agrees(mean_of([released for released, _, _ in found]), law, RUNS)
    batches = [batches for _, batches, _ in found]
    assert abs(mean_of(batches) - expected.batches) < 4 * float(np.std(batches)) / RUNS**0.5


def test_repeats(dice: Generator) -> None:
    repeat = 0.02
    ever = []
    for _ in range(RUNS):
        released = 0
        while dice.random() >= Q:
            released += 1
            if dice.random() < repeat:
                break
        ever.append(released)
    assert abs(mean_of(ever) - theory.poison_repeated(Q, repeat)) < 4 * float(np.std(ever)) / RUNS**0.5
    assert isclose(theory.poison_repeated(Q, 0.0), theory.poison_bound(Q))


def test_what_is_present(dice: Generator) -> None:
    repeat, made = 0.01, 16
    left = (dice.random((RUNS, made)) >= Q).all(axis=1) & (dice.random((RUNS, made)) >= repeat).all(axis=1)
    assert agrees(float(left.mean()), chance(theory.poison_present(Q, made, repeat) / made), RUNS)
    for share in (0.0, 0.01):
        best, value = theory.worst_present(Q, share)
        assert value == max(theory.poison_present(Q, j, share) for j in range(1, 200))
        assert theory.poison_present(Q, best, share) == value


@pytest.mark.parametrize(("last", "w"), [(3, 10), (7, 5)])
def test_exit(dice: Generator, last: int, w: int) -> None:
    x, released = 0.2, []
    for _ in range(RUNS):
        out, batches, is_found = play(dice, lambda _: 1, w, batches=last)
        held = 0 if is_found else min(w, batches)
        released.append(out + (held if (dice.random(held) >= x).all() else 0))
    assert abs(mean_of(released) - theory.poison_exit(Q, x, last, w)) < 4 * float(np.std(released)) / RUNS**0.5


def test_pardon(dice: Generator) -> None:
    out = dice.negative_binomial(2, Q, RUNS)  # passed before the second find
    assert abs(float(out.mean()) - theory.poison_pardon(Q, 1)) < 4 * float(out.std()) / RUNS**0.5
    assert theory.poison_pardon(Q, 1) == 2 * theory.poison_bound(Q)
    assert [theory.pardons(plies, 10**6) for plies in (0, 999_999, 10**6, 2_500_000)] == [0, 0, 1, 2]
    assert theory.patient_tries(10**6, 100, 32 * 60) < 6


def test_best_of_many(dice: Generator) -> None:
    assert abs(theory.best_of(1)) < 1e-9
    assert isclose(theory.best_of(2), np.pi**-0.5, rel_tol=1e-6)
    best = dice.standard_normal((RUNS, 30)).max(axis=1)
    assert abs(float(best.mean()) - theory.best_of(30)) < 4 * float(best.std()) / RUNS**0.5
    assert theory.seed_bits(1) == 0
    assert theory.seed_bits(32) == 5


def test_tail_selection(dice: Generator) -> None:
    submitted, tail = 0.5, 0.1
    effect = theory.selection_effect(submitted)
    series = round(theory.tail_series(submitted, tail, effect))
    assert isclose(theory.tail_found(series, submitted, tail, effect), 0.5, abs_tol=0.01)
    found, shifts = [], []
    for _ in range(RUNS):
        first, second = dice.standard_normal(series), dice.standard_normal(series)
        kept = first > 0
        fills = np.where(kept, second, first)[dice.random(series) < tail]
        shifts.append(first[kept].mean() - fills.mean())
        found.append(shifts[-1] / (1 / kept.sum() + 1 / len(fills)) ** 0.5 > 5)
    assert abs(float(np.mean(shifts)) - effect) < 4 * float(np.std(shifts)) / RUNS**0.5
    assert abs(mean_of(found) - 0.5) < 0.1  # batches on each side vary in number, and a little less in size
    assert theory.tail_found(2 * series, submitted, tail, effect) > 0.97
    assert theory.tail_series(0.9, tail, theory.selection_effect(0.9)) > series


# ---- verifiers and the coordinator, by dice


def test_lazy_verifier(dice: Generator) -> None:
    skipped, ringers = 0.3, 20
    batches = dice.geometric(skipped / ringers, RUNS)
    assert agrees(float(batches.mean()), tries(1 / theory.lazy_batches(skipped, ringers)), RUNS)
    assert isclose(theory.lazy_law(skipped, 0.5).mean, theory.lazy_batches(skipped, 1, 0.5))


@pytest.mark.parametrize(("verifiers", "colluding"), [(3, 1), (5, 2), (4, 4), (2, 1), (1, 0), (1, 1)])
def test_friends_among_verifiers(dice: Generator, verifiers: int, colluding: int) -> None:
    seen, passed = [], []
    for _ in range(RUNS):
        ranked = dice.permutation(verifiers)
        judges = ranked[: 1 + (dice.random() < theory.SECOND)]
        honest = int((judges >= colluding).sum())
        seen.append(honest > 0)
        passed.append(bool((dice.random(3 * honest) >= Q).all()))
    assert agrees(mean_of(seen), chance(theory.seen_by_honest(verifiers, colluding)), RUNS)
    r = theory.passes_with_friends(Q, 3, verifiers, colluding)
    assert agrees(mean_of(passed), chance(r), RUNS)
    out = theory.poison_with_friends(Q, 3, verifiers, colluding)
    assert out == inf if r == 1 else isclose(out, theory.released_law(r, 0, 3).mean, abs_tol=1e-6)


def test_friends_are_worth_nothing_when_there_are_none() -> None:
    assert isclose(theory.passes_with_friends(Q, 2, 4, 0), theory.passes(Q, 2, theory.SECOND))
    assert isclose(theory.friend_convicted(0.01, 32), 0.275, abs_tol=1e-3)


def test_beacon_choices() -> None:
    assert theory.beacon_choices(3, 2, 0) == 1
    assert theory.beacon_choices(3, 2, 1) == 2
    assert theory.beacon_choices(5, 3, 2) == 4  # t - 1 of them, honest ones enough: 2^(t-1)
    assert theory.beacon_choices(3, 3, 1) == 2  # its share, or the next tree
    assert theory.beacon_choices(3, 2, 2) == 4  # one, the other, both, or neither
    assert isclose(theory.chosen(1 / 3, 2), 5 / 9)
    assert (theory.fork_verifiers(3, 2), theory.halt_verifiers(3, 2)) == (1, 2)
    assert (theory.fork_verifiers(5, 5), theory.halt_verifiers(5, 5)) == (5, 1)


# ---- costs


def test_a_flood(dice: Generator) -> None:
    won = dice.hypergeometric(200, 56, 32, RUNS)
    assert abs(float(won.mean()) - theory.slots_won(200, 56, 32)) < 4 * float(won.std()) / RUNS**0.5
    assert theory.slots_won(5, 3, 32) == 5
    assert theory.lists_waited(5, 3, 32) == 1
    waited = dice.geometric(32 / 256, RUNS)
    assert agrees(float(waited.mean()), tries(1 / theory.lists_waited(255, 1, 32)), RUNS)
    assert 10 < theory.stamp_cpu_s(8) < 11
    assert isclose(theory.slot_cpu_s(8, 200, 56, 32), 8 * theory.stamp_cpu_s(8))
    assert theory.slot_cpu_s(8, 5, 3, 32) == theory.stamp_cpu_s(8)
    stamps = dice.geometric(2.0**-8, RUNS)
    assert agrees(float(stamps.mean()), tries(1 / (theory.stamp_cpu_s(8) / theory.stamp_cpu_s(0))), RUNS)


def test_the_default_policy_stays_below_eight_percent() -> None:
    policy = load_manifest(None).admission
    overhead = theory.verification_overhead(policy)
    assert isclose(overhead.total, 0.075)
    assert overhead.total < 0.08 < theory.verification_overhead(replace(policy, ringer_batches=20)).total
    assert theory.verification_overhead(policy, 4000).exits == 0.005
    assert theory.verification_overhead(policy, verifiers=1).second == 0
    assert theory.probation_games(policy) == 32 * 10 * 32


def test_what_a_newcomer_costs() -> None:
    # K whole batches (and one whose header has N = K), then K/N up to N = K / q_min, less q_min all the while.
    expected = 10 + sum(10 / n for n in range(10, 200)) - 200 * Q
    assert isclose(theory.probation_extra(10, Q), expected)
    assert 30 < expected < 31


# ---- the page


def test_the_page_says_what_the_formulas_give() -> None:
    page = (Path(__file__).parents[2] / "docs" / "adversaries.md").read_text(encoding="utf-8")
    continuous, exits = theory.poison_continuous, theory.worst_exit
    patient = theory.poison_patient(Q, 100, 101, 32)
    decaying = [theory.poison_decaying(10, Q, 100, n) for n in (10, 50, 100, 200)]
    selection = [theory.selection_effect(p) for p in (0.5, 0.9)]
    policy = load_manifest(None).admission
    said = [
        f"| {continuous(Q, 100):.2f}; {continuous(Q, 50):.2f} at W = 50 |",
        f"| {continuous(Q, 100, second=0.1):.2f}; {continuous(Q, 50, second=0.1):.2f} at W = 50 |",
        "| N = 10: {:.2f}; 50: {:.2f}; 100: {:.2f}; 200: {:.2f} |".format(*decaying),
        f"| {theory.poison_patient(Q, 100, 2, 32).games:.2f} |",
        f"| {theory.poison_patient(Q, 100, 5, 32).games:.2f} |",
        f"| {patient.games:.2f}; with second verifiers {theory.poison_patient(Q, 100, 101, 32, second=0.1).games:.2f} |",
        f"| {theory.poison_bursts(Q, 100, 10, 32).games:.2f} |",
        "| {1:.2f} at k = {0}, exits drawn at x = 20 % |".format(*exits(Q, 0.2, 100)),
        f"after {patient.batches:,.0f} batches on average: 19 of {patient.batches * 32:,.0f} games, ",
        f"one in {1 / patient.share:,.0f} of its own",
        f"one in {1 / theory.poison_bursts(Q, 100, 10, 32).share:,.0f},",
        f"With exits drawn at 90 % it is {exits(Q, 0.9, 100)[1]:.2f}",
        f"= {theory.poison_repeated(Q, 0.01):.2f}\n",
        "at most {1:.2f}, at j = {0}; ".format(*theory.worst_present(Q, 0.01)),
        f"{theory.worst_present(Q)[1]:.2f} without repeats",
        f"c = 10: {theory.best_of(10):.2f} standard deviations; 1,000: {theory.best_of(1000):.2f}",
        f"p = 1/2: {selection[0]:.2f} standard deviations of a batch",
        f"p = 1/2: {theory.tail_series(0.5, 0.1, selection[0]):.0f}; ",
        f"p = 9/10: {theory.tail_series(0.9, 0.1, selection[1]):,.0f}",
        *(
            f"| {v}, 1 | {theory.seen_by_honest(v, 1):.2f} | {theory.passes_with_friends(1, 32, v, 1):.2f} | "
            f"{theory.poison_with_friends(1, 32, v, 1):.1f} | {theory.poison_with_friends(Q, 1, v, 1):.1f} |"
            for v in (3, 5, 10)
        ),
        f"{100 * theory.friend_convicted(0.01, 32):.1f} % for a batch of 32",
        f"{theory.stamp_cpu_s(8):.1f} processor seconds at 8 bits",
        f"slots K n = {theory.probation_games(policy):,} games",
        f"costs {theory.probation_extra(10, Q):.0f} batches of replays",
        f"| {100 * theory.verification_overhead(policy).total:.1f} % |",
        f"Of these tries {theory.findings_a_pardon(Q, 100, 32 * 60, 10**6):.2f} are found",
        f"no more than {int(theory.patient_tries(10**6 / Q, 100, 32 * 60)) + 1} tries",
    ]
    assert [words for words in said if words not in page] == []
