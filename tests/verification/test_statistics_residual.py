"""The residual: exact on small tables, silent about the honest, and how many games it needs to see the others."""

from collections import Counter
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from tests.verification.crowd import HONEST, Style, peer, play
from tests.verification.manifests import digest_of
from verification.statistics.gamma import chi_squared_tail
from verification.statistics.profile import Counts, Moments, Profile, Stratum
from verification.statistics.residual import Residual, residuals, review

NONE = Moments()
WEAK = Style(black=0.47, length=66.0, flatness=0.3)


def results(counts: dict[int, int], komi_half: int = 14, size: int = 9) -> Profile:
    """Games of one stratum of which only the results are known."""
    stratum = Stratum(digest_of("release"), digest_of("config"), size, komi_half)
    return Profile({stratum: Counts(Counter(counts), Counter(), Counter(), Counter(), NONE, NONE)})


def compare(own: Profile, others: Profile) -> Residual:
    """The residual of results."""
    return residuals(own, own + others)[0]


def test_one_stratum_is_pearsons_test_of_a_table() -> None:
    found = compare(results({1: 30, 2: 10}), results({1: 60, 2: 100}))
    expected = 200 * (30 * 100 - 10 * 60) ** 2 / (40 * 160 * 90 * 110)  # the shortcut for two by two
    assert found.chi2 == pytest.approx(expected)
    assert found.degrees == 1
    assert found.p == pytest.approx(chi_squared_tail(expected, 1))
    assert found.z == pytest.approx(sqrt(expected * 199 / 200))  # the hypergeometric variance


def test_three_rows_have_two_degrees() -> None:
    found = compare(results({0: 10, 1: 20, 2: 30}), results({0: 40, 1: 40, 2: 40}))
    assert found.degrees == 2
    pooled = {0: 50, 1: 60, 2: 70}
    by_hand = sum(
        (own - n / 3) ** 2 / (n / 3) + (own - n / 3) ** 2 / (2 * n / 3)
        for own, n in zip((10, 20, 30), pooled.values(), strict=True)
    )
    assert found.chi2 == pytest.approx(by_hand)


def test_rows_with_five_expected_or_fewer_are_dropped() -> None:
    found = compare(results({0: 9, 1: 50, 2: 41}), results({0: 1, 1: 50, 2: 49}))
    assert found.degrees == 2  # two of three rows; their numbers need not sum any more
    assert found.chi2 == pytest.approx((41 - 45) ** 2 / 45 * 2)
    assert compare(results({0: 5, 1: 5}), results({0: 5, 1: 5})).degrees == 0


def test_few_others_are_as_useless_as_few_own() -> None:
    found = compare(results({1: 3000}), results({2: 4}))
    assert (found.chi2, found.degrees, found.p, found.z) == (0.0, 0, 1.0, 0.0)


def test_strata_are_compared_each_with_its_own() -> None:
    """Other komi, other results (Simpson's paradox): only what differs within a stratum counts."""
    own = results({1: 90, 2: 10}, komi_half=1) + results({1: 1, 2: 9}, komi_half=21)
    others = results({1: 9, 2: 1}, komi_half=1) + results({1: 100, 2: 900}, komi_half=21)
    assert compare(own, others).chi2 == pytest.approx(0.0)
    assert not compare(own, others).is_flagged(1)


def test_differences_add_up_over_strata_and_sizes_stay_apart() -> None:
    one = compare(results({1: 8, 2: 4}), results({1: 40, 2: 44}))
    assert one.degrees == 1
    many = [(results({1: 8, 2: 4}, komi), results({1: 40, 2: 44}, komi)) for komi in range(10)]
    added = compare(Profile.merge(own for own, _ in many), Profile.merge(others for _, others in many))
    assert added.degrees == 1
    assert added.chi2 == pytest.approx(10 * one.chi2)
    sizes = compare(
        results({1: 8, 2: 4}) + results({1: 4, 2: 8}, size=7), results({1: 40, 2: 44}) + results({1: 44, 2: 40}, size=7)
    )
    assert sizes.degrees == 2
    assert sizes.chi2 == pytest.approx(2 * one.chi2)


def test_strata_that_nobody_else_played_say_nothing() -> None:
    found = compare(results({1: 500}), results({2: 500}, komi_half=1))
    assert (found.degrees, found.p, found.z) == (0, 1.0, 0.0)


def test_the_flag_needs_more_when_more_are_compared() -> None:
    residual = Residual("results", 20.0, 1, 8e-6, 4.5)
    assert residual.is_flagged(10)
    assert not residual.is_flagged(100)
    assert Residual("results", 60.0, 40, 0.02, 7.1).is_flagged(10**6)


def test_two_hundred_honest_contributors_are_left_alone() -> None:
    """100 batches of 32 games each, five releases, reviewed five times: 3,000 tests.

    The bound is 5 x 0.001 for the whole run. At p < 0.001 a test, some are flagged: so the rate has to be corrected.
    """
    rng = np.random.default_rng(1)
    profiles = {peer(number): Profile() for number in range(200)}
    flagged: set[bytes] = set()
    uncorrected: set[bytes] = set()
    likely = tests = 0
    for release in range(5):
        profiles = {key: profile + play(rng, 640, release=release) for key, profile in profiles.items()}
        flagged |= review(profiles).keys()
        pooled = Profile.merge(profiles.values())
        for key, own in profiles.items():
            found = residuals(own, pooled)
            assert all(residual.degrees for residual in found)
            tests += 3
            likely += sum(residual.p < 0.1 for residual in found)
            if any(residual.p < 0.001 for residual in found):
                uncorrected.add(key)
    assert flagged == set()
    assert 1 <= len(uncorrected) <= 12
    assert 0.04 < likely / tests < 0.11  # conservative, not blunt


def games_until_flagged(rng: np.random.Generator, others: Profile, style: Style, share: float) -> int:
    """How many games a contributor plays of which `share` are in `style`, looked at every 64 among 200."""
    own = Profile()
    for games in range(64, 20_000, 64):
        strange = int(rng.binomial(64, share))
        own = own + play(rng, strange, style) + play(rng, 64 - strange)
        if any(residual.is_flagged(200) for residual in residuals(own, others + own)):
            return games
    return 20_000


@pytest.mark.parametrize(
    ("style", "share", "least", "most"),
    [
        (WEAK, 1.0, 64, 500),  # shorter, worse for black, flatter: a few batches
        (WEAK, 0.5, 200, 1500),
        (WEAK, 0.25, 1000, 5000),  # as 1 / share^2
        (replace(HONEST, black=0.42), 1.0, 300, 1600),
        (replace(HONEST, flatness=0.3), 1.0, 500, 3000),
    ],
)
def test_another_network_is_seen_after_some_games(style: Style, share: float, least: int, most: int) -> None:
    rng = np.random.default_rng(5)
    others = play(rng, 199 * 3200)
    needed = sorted(games_until_flagged(rng, others, style, share) for _ in range(5))[2]
    print(f"{style} in {share:.0%} of games: flagged after {needed} games")
    assert least <= needed <= most


def test_an_honest_one_is_not_seen_after_as_many() -> None:
    rng = np.random.default_rng(6)
    others = play(rng, 199 * 3200)
    assert games_until_flagged(rng, others, HONEST, 1.0) == 20_000


def test_a_large_cheater_does_not_drag_the_honest_along() -> None:
    rng = np.random.default_rng(7)
    profiles = {peer(number): play(rng, 3200) for number in range(20)}
    profiles[peer(99)] = play(rng, 20 * 3200, WEAK)
    pooled = Profile.merge(profiles.values())
    naive = [key for key, own in profiles.items() if any(r.is_flagged(21) for r in residuals(own, pooled))]
    assert len(naive) > 10
    assert review(profiles).keys() == {peer(99)}


def test_a_crowd_of_cheaters_is_found_whole() -> None:
    rng = np.random.default_rng(8)
    profiles = {peer(number): play(rng, 640) for number in range(60)}
    cheaters = {peer(100 + number): play(rng, 640, WEAK) for number in range(20)}
    assert review(profiles | cheaters).keys() == cheaters.keys()


def test_of_two_alone_both_are_flagged_and_one_or_none_is_nothing() -> None:
    rng = np.random.default_rng(9)
    two = {peer(0): play(rng, 2000), peer(1): play(rng, 2000, WEAK)}
    assert review(two).keys() == two.keys()
    assert review({peer(0): two[peer(0)]}) == {}
    assert review({}) == {}


def test_a_single_strange_row_is_flagged_by_z() -> None:
    """One beginning far too often: 3 % of games, lost among the degrees of freedom of many rows."""
    rng = np.random.default_rng(10)
    others = play(rng, 10**5, Style(flatness=1.0))
    own = play(rng, 5000, Style(flatness=1.0))
    for counts in own.strata.values():
        counts.first_moves[next(iter(counts.first_moves))] += 25
    found = residuals(own, own + others)[2]
    assert found.z > 7.0
    assert found.p > 1e-9
