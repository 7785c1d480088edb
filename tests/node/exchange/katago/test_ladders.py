"""Ladders on boards that people can read."""

import pytest

from native.rules import Colour
from node.exchange.katago.ladders import find_ko, find_ladders


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
