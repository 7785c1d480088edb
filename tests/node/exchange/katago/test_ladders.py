"""Ladders on boards that people can read."""

from random import Random

import pytest

from native.rules import Colour
from node.exchange.katago.ladders import find_ko, find_ladders
from node.exchange.katago.lattice import lattice


def board(text: str) -> tuple[bytes, int]:
    rows = text.split()
    return bytes(".XO".index(letter) for row in rows for letter in row), len(rows)


def points(text: str, letter: str) -> set[int]:
    return {at for at, found in enumerate("".join(text.split())) if found == letter}


def test_a_stone_in_a_ladder_and_one_beside_a_breaker() -> None:
    text = """
    .........
    ..XX.....
    .XOO.....
    ..X......
    .........
    .........
    .........
    .........
    .........
    """
    stones, side = board(text)
    found = find_ladders(stones, side, None)
    assert found.caught == points(text, "O")
    assert found.working[Colour.WHITE] == {2 * 9 + 4}
    assert not found.working[Colour.BLACK]
    breaker = bytearray(stones)
    breaker[6 * 9 + 6] = Colour.WHITE
    assert not find_ladders(bytes(breaker), side, None).caught


@pytest.mark.parametrize(
    ("text", "is_caught"), [("OX./.X./...", True), ("XO./.X./...", False), ("...../..X../.XOX./...../.....", False)]
)
def test_atari(text: str, is_caught: bool) -> None:
    """A stone that stays in atari when it extends, one that takes first, one that gets three liberties."""
    stones, side = board(text.replace("/", "\n"))
    caught = find_ladders(stones, side, None).caught
    assert (stones.index(Colour.WHITE) in caught) == is_caught


def test_nobody_is_caught_with_three_liberties() -> None:
    stones, side = board(".X./.O./...".replace("/", "\n"))
    assert not find_ladders(stones, side, None).caught


def test_where_a_ko_is() -> None:
    before, side = board(".XO./XO.O/.XO./....".replace("/", "\n"))
    after = bytearray(before)
    after[6], after[5] = Colour.BLACK, Colour.EMPTY
    assert find_ko(before, bytes(after), side, 6) == 5
    assert find_ko(before, before, side, 16) is None


def test_a_suicide_leaves_no_ko() -> None:
    """White fills its own last liberty: the two stones go, and the one that was there before is no stone that was taken."""
    before, side = board("OX./.X./X.. ".replace("/", "\n"))
    after = bytearray(before)
    after[0] = Colour.EMPTY
    assert find_ko(before, bytes(after), side, 3) is None


@pytest.mark.parametrize("side", [1, 2, 5, 19])
def test_sets_of_points(side: int) -> None:
    """Neighbours and chains as by rows and columns."""
    rng, found = Random(side), lattice(side)
    assert list(found.numbers(found.all)) == list(range(side * side))
    for _ in range(50):
        stones = bytes(rng.choices((0, 1, 2), k=side * side))
        own = {point for point, stone in enumerate(stones) if stone == 1}
        assert set(found.numbers(found.points(stones, 1))) == own
        near = {point: neighbours(point, side) for point in range(side * side)}
        assert set(found.numbers(found.near(found.points(stones, 1)))) == {
            each for point in own for each in near[point]
        }
        for point in own:
            chain = {point}
            while grown := {each for stone in chain for each in near[stone] & own} - chain:
                chain |= grown
            assert set(found.numbers(found.chain(found.points(stones, 1), found.point(point)))) == chain


def neighbours(point: int, side: int) -> set[int]:
    row, column = divmod(point, side)
    around = ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1))
    return {r * side + c for r, c in around if 0 <= r < side and 0 <= c < side}
