"""Positions from moves, what the last one took, moves that are not allowed, and how games end: dead stones, scores."""

import pytest

from native.rules import Rules
from node.play.errors import IllegalGame
from node.play.position import outcome, reach

PASS = 25
OPEN = Rules(5, 5, 7)
SAFE = Rules(5, 5, 1, pass_alive=True, settled_end=True)


def test_the_last_move_takes_stones() -> None:
    taking = reach(OPEN, [1, 0, 5])
    assert taking.captured == (0,)
    assert taking.stones[:6] == (0, 1, 0, 0, 0, 1)
    assert reach(OPEN, [1, 0]).captured == ()
    assert reach(OPEN, []).stones == (0,) * 25


def test_a_move_that_takes_its_own_stones_is_among_them() -> None:
    # Black 0 and 1 die by Black's own move at 1 once White stands at 5, 6 and 2.
    assert sorted(reach(OPEN, [0, 5, 24, 6, 23, 2, 1]).captured) == [0, 1]


@pytest.mark.parametrize(
    ("moves", "number", "why"),
    [
        ([12, 12], 2, "Move 2, C3, is not allowed: there is a stone already."),
        ([1, PASS, 5, 0], 4, "Move 4, A5, is not allowed: the stone would have no liberty."),
        ([PASS, PASS, 0], 3, "Move 3, A5, is not allowed: the game is over."),
        ([26], 1, "Move 1 is not on the board."),
        ([-1], 1, "Move 1 is not on the board."),
    ],
)
def test_moves_that_are_not_allowed(moves: list[int], number: int, why: str) -> None:
    with pytest.raises(IllegalGame) as caught:
        reach(OPEN, moves)
    assert caught.value.move == number
    assert why in str(caught.value)


def test_a_ko_may_not_be_taken_back() -> None:
    assert reach(OPEN, [1, 2, 5, 8, 11, 12, 24, 6, 7]).captured == (6,)
    with pytest.raises(IllegalGame, match=r"Move 10, B4, is not allowed: the board would be as it was before \(ko\)\."):
        reach(OPEN, [1, 2, 5, 8, 11, 12, 24, 6, 7, 6])


def test_two_passes_end_it_and_all_stones_count() -> None:
    reached = reach(OPEN, [12, PASS, PASS])
    found = outcome(reached.game)
    assert found is not None
    assert (found.end, found.score, found.result) == ("passes", 21.5, "B+21.5")
    assert found.owner == (1,) * 25
    assert found.dead == ()
    assert outcome(reach(OPEN, [12, PASS]).game) is None


def test_stones_in_a_safe_area_are_dead() -> None:
    walls = [
        1,
        6,
        11,
        16,
        21,
        3,
        8,
        13,
        18,
        23,
    ]  # two of Black's from top to bottom: all three areas beside them are safe
    whites = [10] + [PASS] * 8
    moves = [each for pair in zip(walls, whites, strict=False) for each in pair] + walls[-1:]
    found = outcome(reach(SAFE, moves).game)
    assert found is not None
    assert (found.end, found.score, found.dead) == ("settled", 24.5, (10,))
    assert found.owner == (1,) * 25
    assert outcome(reach(SAFE, moves[:-1]).game) is None


def test_a_draw() -> None:
    found = outcome(reach(Rules(5, 5, 0), [PASS, PASS]).game)
    assert found is not None
    assert (found.score, found.result, found.owner) == (0, "0", (0,) * 25)
