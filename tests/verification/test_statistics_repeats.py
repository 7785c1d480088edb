"""Repeated games: who copies is counted, short games and a run that hardly varies are not held against anybody."""

import hashlib
import struct
from math import log2

import numpy as np
import pytest

from protocol.game_block import GameBlock
from tests.verification.blocks import block
from tests.verification.crowd import peer
from verification.statistics.repeats import LEAST_REPEATS, GameIndex, Repeats, game_digest, least_plies

ADA, BOB, EVE = peer(1), peer(2), peer(3)


def games(rng: np.random.Generator, count: int, plies: int = 60) -> list[GameBlock]:
    return [block(tuple(int(move) for move in rng.integers(0, 82, plies))) for _ in range(count)]


def test_the_digest_is_of_size_komi_and_moves_alone() -> None:
    game = block((40, 3), komi_half=-3, counter=4)
    data = b"gonode/game/v1\0\x09" + struct.pack("<hHH", -3, 40, 3)
    assert game_digest(game) == hashlib.sha256(data).digest()
    assert game_digest(block((40, 3), komi_half=-3, counter=9, result=2)) == game_digest(game)
    others = [block((40, 3)), block((3, 40), komi_half=-3), block((40, 3), size=8, komi_half=-3)]
    assert len({game_digest(each) for each in (game, *others)}) == 4


@pytest.mark.parametrize("count", [2, 3, 100, 10**6, 10**9])
def test_two_games_long_enough_hardly_agree_by_chance(count: int) -> None:
    plies = least_plies(count)
    assert count**2 / 2 * 2.0**-plies <= 2.0**-11
    assert plies <= 2 * log2(count) + 12


def test_a_copier_is_counted_and_its_source_is_not() -> None:
    rng = np.random.default_rng(1)
    index = GameIndex()
    source = games(rng, 300)
    assert index.add(ADA, source) == 0
    assert index.add(BOB, games(rng, 300)) == 0
    assert index.add(ADA, source[:5]) == 0  # its own again is for the replay to find
    assert index.add(EVE, source[:20] + games(rng, 80)) == 20
    assert index.repeats(EVE) == Repeats(100, 20)
    assert index.others(EVE) == Repeats(605, 0)
    assert [index.is_flagged(each) for each in (ADA, BOB, EVE)] == [False, False, True]


def test_a_few_repeats_are_not_held_against_anybody() -> None:
    rng = np.random.default_rng(2)
    index = GameIndex()
    source = games(rng, 2000)
    index.add(ADA, source)
    index.add(EVE, source[: LEAST_REPEATS - 1])
    assert not index.is_flagged(EVE)
    index.add(EVE, source[-1:])
    assert index.is_flagged(EVE)


def test_short_games_do_not_count() -> None:
    index = GameIndex()
    short = [block((40, 81, 81))] * 50
    index.add(ADA, short)
    assert index.add(BOB, short) == 0
    assert index.repeats(BOB) == Repeats()


def test_openings_are_no_plies() -> None:
    game = block(tuple(range(30)), opening_moves=25)
    index = GameIndex()
    index.add(ADA, [game])
    assert index.add(BOB, [game]) == 0


def test_where_all_repeat_only_who_repeats_more_is_flagged() -> None:
    """A network that hardly varies: everybody plays one of 50 games in one game of five."""
    rng = np.random.default_rng(3)
    index = GameIndex()
    known = games(rng, 50)

    def batch(share: float) -> list[GameBlock]:
        common = int(rng.binomial(100, share))
        return [known[int(k)] for k in rng.integers(0, 50, common)] + games(rng, 100 - common)

    honest = [peer(number) for number in range(10, 30)]
    for _ in range(3):
        for each in honest:
            index.add(each, batch(0.2))
        index.add(EVE, batch(0.6))
    assert not any(index.is_flagged(each) for each in honest)
    assert index.is_flagged(EVE)


def test_while_others_played_little_no_repeat_surprises() -> None:
    rng = np.random.default_rng(4)
    index = GameIndex()
    source = games(rng, 4)
    index.add(ADA, source)
    index.add(BOB, source)
    assert index.repeats(BOB) == Repeats(4, 4)
    assert not index.is_flagged(BOB)
    assert not index.is_flagged(EVE)


def test_the_index_forgets_the_oldest() -> None:
    rng = np.random.default_rng(5)
    index = GameIndex(most=100)
    old = games(rng, 10)
    index.add(ADA, old)
    index.add(ADA, games(rng, 39))
    assert index.add(BOB, old[:2]) == 2
    index.add(ADA, games(rng, 100))
    assert index.add(BOB, old) == 0
    assert len(index._first) + len(index._older) <= 100
