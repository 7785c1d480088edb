"""The table: any colours in any order, taken back one by one, and nothing changed by what fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from native.game import Game
from native.rules import Colour, End, Ko, Rules
from node.gtp.errors import Failure
from node.gtp.table import Start, Table

RULES = Rules(4, 4, 15, pass_alive=True, settled_end=True)
MOVES = st.lists(st.tuples(st.sampled_from([Colour.BLACK, Colour.WHITE]), st.integers(0, 16)), max_size=40)


def seen(table: Table) -> tuple[object, ...]:
    """All that a controller can see of it."""
    game, stand = table.game, table.stand
    taken = stand.taken(Colour.BLACK), stand.taken(Colour.WHITE)
    return game.stones(), game.to_move, game.end, taken, table.moves, table.rules, game.legal()


@settings(deadline=None)
@given(MOVES, st.sampled_from(Ko))
def test_moves_and_back(moves: list[tuple[Colour, int]], ko: Ko) -> None:
    table = Table(Rules(4, 4, 15, ko, pass_alive=True, settled_end=True))
    before = [seen(table)]
    for colour, move in moves:
        try:
            table.play(colour, move)
            before.append(seen(table))
        except Failure:
            assert seen(table) == before[-1]
    while len(before) > 1:
        before.pop()
        table.undo()
        assert seen(table) == before[-1]
    with pytest.raises(Failure, match=r"^cannot undo$"):
        table.undo()


@settings(deadline=None)
@given(st.lists(st.integers(0, 16), max_size=40))
def test_by_turns_it_is_the_rules_own_game(moves: list[int]) -> None:
    table, game = Table(RULES), Game(RULES)
    for move in moves:
        if game.end:
            return
        if game.check(move) is not None:
            with pytest.raises(Failure):
                table.play(game.to_move, move)
            continue
        table.play(game.to_move, move)
        game.play(move)
        assert (table.game.stones(), table.game.end, table.game.legal()) == (game.stones(), game.end, game.legal())


def test_play_goes_on_after_the_end() -> None:
    table = Table(RULES)
    table.play(Colour.BLACK, 5)
    table.play(Colour.WHITE, 16)
    table.play(Colour.BLACK, 16)
    assert table.game.end == End.PASSES
    table.play(Colour.BLACK, 6)
    assert table.game.end == End.NONE
    table.undo()
    assert table.game.end == End.PASSES


def test_what_was_taken_is_kept_over_the_end() -> None:
    table = Table(Rules(4, 4, 15))
    for colour, move in ((Colour.WHITE, 0), (Colour.BLACK, 1), (Colour.BLACK, 4)):
        table.play(colour, move)
    for colour in (Colour.WHITE, Colour.BLACK, Colour.WHITE):
        table.play(colour, 16)
    table.play(Colour.BLACK, 10)
    assert table.stand.taken(Colour.WHITE) == 1


def test_stones_without_liberties_are_no_position() -> None:
    table = Table(RULES)
    table.play(Colour.BLACK, 3)
    before = seen(table)
    with pytest.raises(Failure):
        table.put(RULES, Start(bytes([1] * 16)))
    with pytest.raises(Failure):
        table.place_handicap([0, 1])
    assert seen(table) == before
