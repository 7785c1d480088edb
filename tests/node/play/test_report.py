"""Reports: what is said of a move is the part of the tree below it; symmetries as the engine turns positions."""

from dataclasses import replace

import pytest

from native.game import Game
from native.network import Kernel
from native.rules import Colour, Rules
from native.search import Root
from node.play.report import report
from node.play.searcher import Searcher
from node.play.symmetry import SYMMETRIES, turn_back, turn_planes
from node.play.worth import worth_of
from tests.node.play.players import small_network, small_searcher

SEED = bytes(range(32))
RULES = Rules(4, 4, 1, pass_alive=True, settled_end=True)


def position(*moves: int) -> Game:
    """After these moves."""
    game = Game(RULES)
    for move in moves:
        game.play(move)
    return game


@pytest.mark.parametrize("root", Root)
@pytest.mark.parametrize("visits", [2, 40, 300])
@pytest.mark.parametrize("moves", [(), (5, 6, 9), (5, 16)])
def test_moves_add_up_to_the_tree(root: Root, visits: int, moves: tuple[int, ...]) -> None:
    """The root's sums are its own evaluation's and its children's, so theirs are those of the searches below."""
    searcher = small_searcher(small_network())
    searcher = replace(searcher, config=replace(searcher.config, root=root))
    game = position(*moves)
    ply = searcher.search(game, visits, SEED, varies=False)
    found = report(searcher, game, ply, SEED)
    assert sum(each.visits for each in found.moves) == visits - 1
    told = [(1, searcher.evaluate(game, SEED).worth), *((each.visits, each.worth) for each in found.moves)]
    worth = worth_of(ply)
    assert sum(count * each.winrate for count, each in told) / visits == pytest.approx(worth.winrate, abs=1e-6)
    assert sum(count * each.score for count, each in told) / visits == pytest.approx(worth.score, abs=1e-3)
    assert root == Root.GUMBEL or [each.visits for each in found.moves] == sorted(
        (each.visits for each in found.moves), reverse=True
    )


def test_lines_can_be_played() -> None:
    searcher, game = small_searcher(small_network()), position(5)
    found = report(searcher, game, searcher.search(game, 200, SEED), SEED)
    assert max(len(each.line) for each in found.moves) > 3
    for each in found.moves:
        twin = game.copy()
        for move in each.line:
            twin.play(move)
        assert list(each.line_visits) == sorted(each.line_visits, reverse=True)
        assert each.line_visits[0] == each.visits
        assert 0 <= each.lcb <= each.worth.winrate


def test_a_move_that_ends_the_game() -> None:
    game = position(5, 16)  # White passed: Black's pass wins
    found = report(small_searcher(), game, small_searcher().search(game, 60, SEED, varies=False), SEED)
    best = found.moves[0]
    assert (best.line, best.worth.winrate, best.worth.score) == ((16,), 1.0, 15.5)


def test_symmetries_turn_and_turn_back() -> None:
    searcher = Searcher("small", bytes(32), small_network(), small_searcher().config, Kernel.best())
    game = position(1, 8)
    assert len({turn_planes(game.features(), each, 4) for each in SYMMETRIES}) == 8
    for symmetry in SYMMETRIES:
        assert turn_back(list(turn_planes(bytes(range(16)), symmetry, 4)), symmetry, 4) == list(range(16))
        raw = searcher.evaluate_by(game, symmetry)
        assert sum(raw.policy) == pytest.approx(1)
        assert [raw.policy[move] > 0 for move in (1, 8)] == [False, False]
        assert game.to_move == Colour.BLACK
