"""Handicap stones: where they go, which numbers are refused, and what white gets for them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.errors import Reason
from native.game import Game
from native.handicap import (
    HandicapBonus,
    HandicapError,
    fixed_points,
    free_points,
    handicap_game,
    handicap_rules,
    most_fixed_stones,
    most_free_stones,
    verify_free_points,
)
from native.rules import MAX_KOMI_HALF, Colour, Rules, Scoring

COLUMNS = "ABCDEFGHJKLMNOPQRST"
NINE = Rules(9, 9, 15)


def square(side: int) -> Rules:
    return Rules(side, side, 15)


def vertices(rules: Rules, points: tuple[int, ...]) -> set[str]:
    return {f"{COLUMNS[p % rules.cols]}{rules.rows - p // rules.cols}" for p in points}


@pytest.mark.parametrize(
    ("side", "stones", "expected"),
    [
        (7, 4, "C3 C5 E3 E5"),
        (8, 4, "C3 C6 F3 F6"),
        (9, 2, "C3 G7"),
        (9, 3, "C3 G7 C7"),
        (9, 5, "C3 C7 G3 G7 E5"),
        (11, 9, "C3 C6 C9 F3 F6 F9 J3 J6 J9"),
        (12, 2, "C3 K10"),
        (13, 6, "D4 D7 D10 K4 K7 K10"),
        (13, 7, "D4 D7 D10 K4 K7 K10 G7"),
        (13, 8, "D4 D7 D10 K4 K7 K10 G4 G10"),
        (14, 3, "D4 L11 D11"),
        (19, 2, "D4 Q16"),
        (19, 3, "D4 Q16 D16"),
        (19, 4, "D4 Q16 D16 Q4"),
        (19, 5, "D4 Q16 D16 Q4 K10"),
        (19, 6, "D4 Q16 D16 Q4 D10 Q10"),
        (19, 7, "D4 Q16 D16 Q4 D10 Q10 K10"),
        (19, 8, "D4 Q16 D16 Q4 D10 Q10 K4 K16"),
        (19, 9, "D4 Q16 D16 Q4 D10 Q10 K4 K16 K10"),
    ],
)
def test_fixed_points(side: int, stones: int, expected: str) -> None:
    points = fixed_points(square(side), stones)
    assert len(points) == stones
    assert vertices(square(side), points) == set(expected.split())


@pytest.mark.parametrize("side", range(1, 20))
def test_which_boards_take_how_many(side: int) -> None:
    rules = square(side)
    most = 0 if side < 7 else 4 if side == 7 or side % 2 == 0 else 9
    assert most_fixed_stones(rules) == most
    for stones in range(-1, 12):
        if 2 <= stones <= most:
            verify_free_points(rules, fixed_points(rules, stones))
        else:
            with pytest.raises(HandicapError, match=r"fixed handicap stones, not -?\d+\.$"):
                fixed_points(rules, stones)


def test_oblong_boards_have_no_fixed_points() -> None:
    with pytest.raises(HandicapError, match="A board of 9 by 13 has no fixed handicap stones, not 2"):
        fixed_points(Rules(9, 13, 0), 2)


@settings(deadline=None)
@given(rows=st.integers(1, 19), cols=st.integers(1, 19), data=st.data())
def test_any_number_is_placed_freely(rows: int, cols: int, data: st.DataObject) -> None:
    rules = Rules(rows, cols, 0)
    most = most_free_stones(rules)
    assert most == (rows * cols - 1 if rows * cols > 2 else 0)
    for stones in (1, most + 1):
        with pytest.raises(HandicapError, match="handicap stones, not"):
            free_points(rules, stones)
    if most:
        stones = data.draw(st.integers(2, most))
        points = free_points(rules, stones)
        assert len(points) == stones
        assert handicap_game(rules, points).stones().count(Colour.BLACK) == stones


def test_free_placement_spreads() -> None:
    assert free_points(NINE, 5) == fixed_points(NINE, 5)
    assert vertices(square(5), free_points(square(5), 1 + 4)) == {"C3", "B2", "B4", "D2", "D4"}
    eight = free_points(square(8), 5)
    assert eight[:4] == fixed_points(square(8), 4)
    assert vertices(square(8), eight[4:]) <= {"D4", "D5", "E4", "E5"}


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([], "takes 2 to 80 handicap stones, not 0"),
        ([20], "not 1"),
        (list(range(81)), "not 81"),
        ([20, 20], "two handicap stones"),
        ([20, 81], "81 is not a point"),
        ([20, -1], "-1 is not a point"),
    ],
)
def test_free_points_that_are_refused(points: list[int], sentence: str) -> None:
    with pytest.raises(HandicapError, match=sentence):
        handicap_game(NINE, points)


def test_stones_are_set_up_and_white_moves() -> None:
    game = handicap_game(NINE, fixed_points(NINE, 4))
    assert (game.to_move, game.num_moves) == (Colour.WHITE, 0)
    assert game.stones().count(Colour.BLACK) == 4
    assert game.check(fixed_points(NINE, 4)[0]) == Reason.OCCUPIED
    game.play(40, Colour.WHITE)
    game.play(41, Colour.BLACK)


def test_the_same_board_as_stones_played_one_by_one() -> None:
    """Some programs send handicap stones as moves."""
    points = fixed_points(NINE, 2)
    placed, played = handicap_game(NINE, points), Game(NINE)
    for move in (points[0], NINE.points, points[1]):
        played.play(move)
    assert (placed.stones(), placed.hash, placed.to_move) == (played.stones(), played.hash, played.to_move)
    assert placed.legal() == played.legal()


@pytest.mark.parametrize(
    ("bonus", "points"), [(HandicapBonus.NONE, 0), (HandicapBonus.STONES_LESS_ONE, 3), (HandicapBonus.STONES, 4)]
)
def test_the_bonus_is_whites(bonus: HandicapBonus, points: int) -> None:
    rules = replace(NINE, komi_half=1)
    game = handicap_game(rules, fixed_points(rules, 4), bonus)
    assert game.score_half() == 2 * 81 - 1 - 2 * points
    assert game.features()[18 * 81] == 64 + 2 * (1 + 2 * points)
    assert [bonus.points(stones) for stones in (0, 2)] == [0, {0: 0, 3: 1, 4: 2}[points]]


def test_the_bonus_is_of_area_scoring() -> None:
    rules = replace(NINE, scoring=Scoring.TERRITORY)
    assert handicap_rules(rules, 4, HandicapBonus.NONE) == rules
    with pytest.raises(HandicapError, match="area scoring only"):
        handicap_rules(rules, 4, HandicapBonus.STONES)
    with pytest.raises(HandicapError, match="no room"):
        handicap_rules(replace(NINE, komi_half=MAX_KOMI_HALF - 5), 4, HandicapBonus.STONES_LESS_ONE)
