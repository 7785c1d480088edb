"""Crowds of simulated contributors: profiles drawn from a seed, without playing a game.

Games have a result, a length and a first-moves class, drawn independently; `Style` is where a contributor differs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.verification.manifests import digest_of
from verification.statistics.profile import Counts, Moments, Profile, Stratum, length_bin

CONFIG = digest_of("config")
SIZE = 9
KOMI_HALF = (13, 14)
CLASSES = 300
_KEYS = np.random.default_rng(0).choice(82 * 82, CLASSES, replace=False)
_FIRST = 1.0 / np.arange(1, CLASSES + 1) ** 1.1


@dataclass(frozen=True)
class Style:
    """How a network plays: black's share of wins, mean length in moves, how flat its choice of first moves is."""

    black: float = 0.52
    draws: float = 0.04
    length: float = 75.0
    flatness: float = 0.0


HONEST = Style()


def peer(number: int) -> bytes:
    """The key that stands for contributor `number`."""
    return digest_of(f"peer {number}")


def play(rng: np.random.Generator, games: int, style: Style = HONEST, release: int = 0) -> Profile:
    """The profile of `games` games with a release, over both komi."""
    strata = {}
    for komi_half, count in zip(KOMI_HALF, rng.multinomial(games, (0.5, 0.5)), strict=True):
        if count:
            stratum = Stratum(digest_of(f"release {release}"), CONFIG, SIZE, komi_half)
            strata[stratum] = _counts(rng, int(count), style, komi_half - 13.5)
    return Profile(strata)


def _counts(rng: np.random.Generator, games: int, style: Style, komi: float) -> Counts:
    black = style.black - 0.05 * komi
    results = rng.multinomial(games, (style.draws, black, 1.0 - black - style.draws))
    moves = np.maximum(10, rng.gamma(16.0, style.length / 16.0, games).astype(int))
    moves[rng.random(games) < 0.01] = 3 * SIZE * SIZE  # at the cap, a tail far from normal
    score = rng.normal(2.0 * (style.black - 0.5), 20.0, games).astype(int)
    first = (1.0 - style.flatness) * _FIRST / _FIRST.sum() + style.flatness / CLASSES
    begun = rng.multinomial(games, first)
    return Counts(
        results=_counter(range(3), results),
        ends=Counter({1: games}),
        lengths=Counter(length_bin(int(each), SIZE) for each in moves),
        first_moves=_counter(_KEYS, begun),
        moves=Moments.of([int(each) for each in moves]),
        score_half=Moments.of([int(each) for each in score]),
    )


def _counter(keys: object, counts: object) -> Counter[int]:
    return Counter({int(k): int(n) for k, n in zip(keys, counts, strict=True) if n})  # type: ignore[call-overload]


def crowd(rng: np.random.Generator, contributors: int, games: int, releases: int, first: int = 0) -> Iterator[Profile]:
    """Honest profiles, `games` a release."""
    for _ in range(contributors):
        yield Profile.merge(play(rng, games, release=first + each) for each in range(releases))
