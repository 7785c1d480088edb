"""Searches: the whole root is the engine's own, and a root without some moves adds up like one."""

import pytest

from native.game import Game
from native.rules import Rules
from node.analysis.thought import SEED, think
from node.play.report import report
from node.play.searcher import Searcher
from tests.node.play.players import small_network, small_searcher

RULES = Rules(4, 4, 1, pass_alive=True, settled_end=True)
PASS = 16


def position(*moves: int) -> Game:
    game = Game(RULES)
    for move in moves:
        game.play(move)
    return game


def test_nothing_barred_is_the_search_itself() -> None:
    searcher, game = small_searcher(small_network()), position(5)
    found = think(searcher, game, 60, frozenset({5}))  # an illegal move is none that is left out
    same = report(searcher, game, searcher.search(game, 60, SEED, varies=False), SEED)
    assert (found.visits, found.worth, found.moves) == (60, same.worth, same.moves)


@pytest.mark.parametrize("searcher", [small_searcher(small_network()), small_searcher()])
@pytest.mark.parametrize("visits", [2, 3, 17, 18, 40, 100, 301])
@pytest.mark.parametrize("barred", [{6}, {1, 2, 3, 4, 6, PASS}, set(range(15))])
def test_a_root_without_some_moves(searcher: Searcher, visits: int, barred: set[int]) -> None:
    game = position(5)
    found = think(searcher, game, visits, frozenset(barred))
    assert found.visits == visits
    assert sum(each.visits for each in found.moves) == visits - 1
    assert not {each.line[0] for each in found.moves} & (barred | {5})
    told = [(1, searcher.evaluate(game, SEED).worth), *((each.visits, each.worth) for each in found.moves)]
    assert sum(count * each.winrate for count, each in told) / visits == pytest.approx(found.worth.winrate, abs=1e-6)
    assert sum(count * each.score for count, each in told) / visits == pytest.approx(found.worth.score, abs=1e-3)


def test_the_best_that_is_left_is_found() -> None:
    """Black may end the game by a pass and win; without the pass it has to play on."""
    game = position(5, PASS)
    searcher = small_searcher()
    whole = think(searcher, game, 100)
    assert (whole.moves[0].line, whole.moves[0].worth.winrate) == ((PASS,), 1.0)
    allowed = frozenset(range(PASS)) - {0, 1, 2}
    assert think(searcher, game, 100, allowed).moves[0].line == (PASS,)
    assert think(searcher, game, 100, frozenset({PASS})).moves[0].line[0] != PASS


def test_one_visit_or_no_move_is_the_network_alone() -> None:
    searcher, game = small_searcher(small_network()), position(5)
    for found in (think(searcher, game, 1), think(searcher, game, 50, frozenset(range(PASS + 1)))):
        assert (found.visits, found.moves) == (1, ())
        assert found.worth == searcher.evaluate(game, SEED).worth
