"""Light playouts: the same games played once more by the slow reference, and known hashes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from native._engine import ffi, lib
from native.errors import EngineError
from native.playout import MAX_PLAYOUTS, Playouts, play_playouts
from native.rules import End, Ko, Rules, Scoring
from tests.native.random_games import is_eye
from tests.native.reference import Reference

OFFSET, PRIME = 0xCBF29CE484222325, 0x100000001B3
SEED = bytes(range(32))


def words(seed: bytes, game: int) -> Iterator[int]:
    """The random words of a game."""
    key, out = ffi.new("uint32_t[2]", struct.unpack_from("<2I", seed)), ffi.new("uint32_t[4]")
    block = 0
    while True:
        lib.go_philox(ffi.new("uint32_t[4]", (block, 0, game, 4)), key, out)
        yield from (int(word) for word in out)
        block += 1


def slow_playouts(rules: Rules, games: int, seed: bytes) -> Playouts:
    """What `play_playouts` gives, from its docstring."""
    moves, wins, total = 0, 0, OFFSET
    for number in range(games):
        reference, chance = Reference(rules), words(seed, number)
        while reference.end == End.NONE:
            left = [p for p, at in enumerate(reference.board) if not at and not is_eye(reference, p)]
            move = rules.points
            while left:
                drawn = left.pop(next(chance) * len(left) >> 32)
                if reference.check(drawn) is None:
                    move = drawn
                    break
            reference.play(move)
            total = (total ^ move) * PRIME % 2**64
        score = reference.score_half()
        total = (total ^ score % 2**32) * PRIME % 2**64
        moves += len(reference.moves)
        wins += score > 0
    return Playouts(games, moves, wins, total)


@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize("ko", list(Ko))
@pytest.mark.parametrize(
    ("rows", "cols", "games"), [(1, 1, 3), (1, 7, 20), (2, 2, 30), (3, 4, 20), (5, 5, 8), (9, 9, 1)]
)
def test_the_reference_plays_the_same_games(rows: int, cols: int, games: int, ko: Ko, suicide: bool) -> None:
    rules = Rules(rows, cols, 1, ko, suicide, move_cap=3 * rows * cols)
    assert play_playouts(rules, games, SEED) == slow_playouts(rules, games, SEED)


@pytest.mark.parametrize("scoring", list(Scoring))
def test_ends_and_scores_are_those_of_the_rules(scoring: Scoring) -> None:
    rules = Rules(4, 5, -3, Ko.POSITIONAL, False, scoring, pass_alive=True, settled_end=True, move_cap=70)
    assert play_playouts(rules, 10, SEED) == slow_playouts(rules, 10, SEED)


@pytest.mark.parametrize(
    ("size", "ko", "expected"),
    [
        (9, Ko.SIMPLE, 0x3DF7350B364E9FC0),
        (9, Ko.POSITIONAL, 0xAA5B088D9AEAB8FB),
        (9, Ko.SITUATIONAL, 0xE0C2B88EB872E748),
        (19, Ko.SIMPLE, 0x8BCD5BC74F1EB9C4),
        (19, Ko.POSITIONAL, 0x09F00B2DC9423559),
        (19, Ko.SITUATIONAL, 0x65FAB3B64C32ECF9),
    ],
)
def test_known_hashes(size: int, ko: Ko, expected: int) -> None:
    played = play_playouts(Rules(size, size, 15, ko, move_cap=3 * size * size), 1000, bytes(32))
    assert played.hash == expected


def test_numbers_out_of_range_are_refused() -> None:
    rules = Rules(5, 5, 0)
    assert play_playouts(rules, 0, SEED) == Playouts(0, 0, 0, OFFSET)
    for games, seed in ((-1, SEED), (MAX_PLAYOUTS + 1, SEED), (1, SEED[:-1]), (1, b"")):
        with pytest.raises(EngineError, match="32 bytes"):
            play_playouts(rules, games, seed)
