"""Tails: who submits only what it likes, against honest contributors and an exact permutation."""

from dataclasses import replace
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from tests.verification.blocks import batch_of, block
from tests.verification.crowd import HONEST, play
from tests.verification.manifests import digest_of
from verification.statistics import tails
from verification.statistics.profile import Profile
from verification.statistics.tails import LEAST_GAMES, tail_z


def scored(scores: list[int], komi_half: int = 14) -> Profile:
    """Games that differ in nothing but their score."""
    games = [block((1, 2), counter=n, score_half=score, komi_half=komi_half) for n, score in enumerate(scores)]
    return Profile.of_batch(digest_of("release"), digest_of("config"), batch_of(games))


def test_z_is_that_of_all_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "LEAST_GAMES", 1)
    scores = [5, -3, 8, 0, 1, 12, -7]
    found = tail_z(scored(scores[:3]), scored(scores[3:5]), scored(scores[5:]))
    places = range(7)
    differences = [
        sum(scores[i] for i in own) / 3 - sum(scores[i] for i in gap) / 2
        for own in combinations(places, 3)
        for gap in combinations([i for i in places if i not in own], 2)
    ]
    sd = sqrt(sum(each**2 for each in differences) / len(differences))
    assert sum(differences) == pytest.approx(0.0)
    assert found.measure == "score"
    assert found.z == pytest.approx((10 / 3 - 1 / 2) / sd)


def test_strata_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "LEAST_GAMES", 1)
    submitted, filled = scored([0, 1] * 50, 14) + scored([100, 101], 1), scored([0, 1], 14) + scored([100, 101] * 50, 1)
    assert tail_z(submitted, filled).z == pytest.approx(0.0, abs=1e-9)


def test_without_variance_or_games_there_is_no_difference() -> None:
    same = scored([4] * 100)
    assert tail_z(same, same).z == 0.0
    assert tail_z(Profile(), Profile()).z == 0.0
    assert tail_z(scored([9] * 200), scored([0] * (LEAST_GAMES - 1))).z == 0.0
    assert tail_z(scored([9] * 200), scored([0] * LEAST_GAMES)).restarts


def test_strata_of_one_kind_tell_something_only_beside_others() -> None:
    high, low, middle = (
        scored([9, 11] * 50, 1),
        scored([0, 2] * 50, 3),
        scored([4, 7] * 500, 1) + scored([4, 7] * 500, 3),
    )
    assert tail_z(high, low).z == 0.0
    assert tail_z(high, low, middle).z > 5.0
    assert tail_z(low, high, middle).z < -5.0


def picked(rng: np.random.Generator, releases: int, picky: bool) -> tuple[Profile, Profile]:
    """A first batch of 32 games a release, by a picky one submitted only if black won more; every tenth tail is filled."""
    submitted, filled = Profile(), Profile()
    for release in range(releases):
        batch = play(rng, 32, release=release)
        liked = not picky or sum(counts.black_result.total for counts in batch.strata.values()) > 0
        if liked:
            submitted = submitted + batch
        if release % 10 == 0:
            filled = filled + (play(rng, 32, release=release) if liked else batch)
    return submitted, filled


def test_honest_contributors_keep_their_place() -> None:
    rng = np.random.default_rng(11)
    others = Profile.merge(play(rng, 320, release=release) for release in range(30))
    found = [abs(tail_z(*picked(rng, 30, picky=False), others).z) for _ in range(100)]
    print(f"100 honest contributors: the largest z is {max(found):.2f}")
    assert max(found) < 4.5
    assert 0.01 < sum(z > 2.39 for z in found) / 100 < 0.15  # 5 % over three tests


def test_one_who_picks_by_result_is_seen_and_others_help() -> None:
    rng = np.random.default_rng(12)
    releases = 600
    others = Profile.merge(play(rng, 160, release=release) for release in range(releases))
    submitted, filled = picked(rng, releases, picky=True)
    with_others, alone = tail_z(submitted, filled, others), tail_z(submitted, filled)
    print(f"after {releases} releases: z {with_others.z:.1f}, without others {alone.z:.1f}")
    assert with_others.measure == "result"
    assert with_others.restarts
    assert alone.z < with_others.z


def test_longer_games_are_seen() -> None:
    rng = np.random.default_rng(13)
    found = tail_z(play(rng, 640, replace(HONEST, length=90.0)), play(rng, 320))
    assert found.measure == "length"
    assert found.z > 5.0
