"""Random games: the engine against the slow reference, move by move, over sizes and rules."""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Sequence
from typing import TypeVar

import pytest

from native.game import Game
from native.rules import Colour, End, Ko, Rules, Scoring
from tests.native.reference import Reference

GAMES = 500
PARTS = 10
# SHA-256 over all games of a part: positions, legal sets, ends, scores. The same on every machine.
HASHES = [
    "8cc34673bfc2b3ec",
    "da660600dabc7038",
    "459719201fbc363c",
    "4f9c7a33774cc8eb",
    "44886f8b62f652b0",
    "34e51660d14c6964",
    "881510246640be89",
    "f7e62539b9672ab7",
    "6001d3a9b82c9126",
    "752f902a0259fa8b",
]


T = TypeVar("T")


class Random:
    """Random choices made of `random.random` alone, whose sequence no Python version changes."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed).random

    def choice(self, items: Sequence[T]) -> T:
        return items[int(self.chance() * len(items))]

    def between(self, low: int, high: int) -> int:
        return low + int(self.chance() * (high - low + 1))


def random_rules(rng: Random) -> Rules:
    """Mostly small boards, where captures, ko and settled ends are frequent."""
    side = rng.choice([3, 4, 4, 5, 5, 6])
    rows, cols = rng.choice([(side, side), (side, side), (side, rng.between(2, 7)), (1, rng.between(1, 9))])
    if rng.chance() < 0.04:
        rows, cols = rng.choice([(9, 9), (7, 8), (9, 3)])
    return Rules(
        rows=rows,
        cols=cols,
        komi_half=rng.between(-20, 20),
        ko=rng.choice(list(Ko)),
        suicide=rng.chance() < 0.5,
        scoring=rng.choice([Scoring.AREA, Scoring.AREA, Scoring.TERRITORY]),
        pass_alive=rng.chance() < 0.5,
        settled_end=rng.chance() < 0.3,
        move_cap=rng.choice([0, 0, 3 * rows * cols, 5]),
    )


def random_move(rng: Random, game: Game, legal: bytes) -> int:
    """A legal move; passes are rare while there are others, so that games last."""
    moves = [move for move in range(game.pass_move) if legal[move]]
    return rng.choice(moves) if moves and rng.chance() < 0.96 else game.pass_move


def play_both(seed: int) -> bytes:
    """Plays one random game on both sides and returns the hash of the engine's answers."""
    rng = Random(seed)
    rules = random_rules(rng)
    game, reference, trail = Game(rules), Reference(rules), hashlib.sha256()
    limit = 60 if rules.points > 36 else 2 * rules.points + 10
    for ply in range(limit):
        legal = game.legal()
        assert game.end == reference.end, (seed, ply)
        assert legal == reference.legal(), (seed, ply)
        assert game.stones() == bytes(reference.board), (seed, ply)
        assert game.to_move == reference.to_move, (seed, ply)
        if rng.chance() < 0.15 or game.end != End.NONE:
            assert list(game.pass_alive()) == reference.pass_alive(), (seed, ply)
            assert game.score_half() == reference.score_half(), (seed, ply)
            assert list(game.owner()) == reference.owner(), (seed, ply)
            assert game.features() == reference.features(), (seed, ply)
        trail.update(game.stones() + legal)
        if game.end != End.NONE:
            break
        move = random_move(rng, game, legal)
        for point in {rng.between(0, rules.points - 1) for _ in range(3)}:
            assert game.check(point) == reference.check(point), (seed, ply, point)
        game.play(move, rng.choice((Colour.EMPTY, game.to_move)))
        reference.play(move)
    assert {c: game.captured(c) for c in (Colour.BLACK, Colour.WHITE)} == reference.captured, seed
    assert [move for _, move in game.moves] == reference.moves, seed
    trail.update(struct.pack("<iB", game.score_half(), game.end) + game.features())
    return trail.digest()


@pytest.mark.parametrize("part", range(PARTS))
def test_random_games_equal_the_reference(part: int) -> None:
    total = hashlib.sha256()
    for seed in range(part, GAMES, PARTS):
        total.update(play_both(seed))
    assert total.hexdigest()[:16] == HASHES[part]
