"""Positions of queries: records that break the rules, games that go on after their end, handicaps, prisoners."""

from typing import Any

import pytest

from native.game import Game
from native.rules import Colour, End
from node.analysis.query import Query
from node.analysis.turns import handicap_stones, position
from tests.node.analysis.talk import query, small_reader, talk, the_answer, the_error

B, W = Colour.BLACK, Colour.WHITE
KO = [["b", "B2"], ["w", "C2"], ["b", "A1"], ["w", "D1"], ["b", "pass"], ["w", "B1"], ["b", "C1"]]
"""Black takes B1 by C1; White may not take back at once."""


def read(**fields: Any) -> Query:
    return small_reader().read("q", query(**fields), lambda field, sentence: None)


def last(**fields: Any) -> Game:
    found = read(**fields)
    return position(found, len(found.moves))


def vertices(game: Game, colour: Colour) -> set[str]:
    return {f"{'ABCDE'[point % 5]}{5 - point // 5}" for point, stone in enumerate(game.stones()) if stone == colour}


def test_turns_are_positions_of_one_game() -> None:
    moves = [["b", "C3"], ["w", "C4"], ["b", "pass"]]
    found = read(moves=moves)
    assert [position(found, turn).num_moves for turn in range(4)] == [0, 1, 2, 3]
    assert [position(found, turn).to_move for turn in range(4)] == [B, W, B, W]


def test_a_move_out_of_turn_begins_anew() -> None:
    game = last(moves=[["b", "C3"], ["b", "D3"], ["w", "A1"]])
    assert (vertices(game, B), vertices(game, W), game.to_move) == ({"C3", "D3"}, {"A1"}, B)
    assert game.num_moves == 2


def test_a_ko_that_is_taken_back_is_made() -> None:
    assert "B1" not in vertices(last(moves=KO), W)
    game = last(moves=[*KO, ["w", "B1"]])
    assert "B1" in vertices(game, W)
    assert "C1" not in vertices(game, B)
    assert game.to_move == B


def test_a_suicide_that_is_forbidden_is_made() -> None:
    moves = [["w", "A3"], ["b", "A1"], ["w", "B2"], ["b", "pass"], ["w", "B1"], ["b", "A2"]]
    for rules in ("japanese", "chinese", "tromp-taylor"):
        game = last(moves=moves, rules=rules)
        assert (vertices(game, B), vertices(game, W), game.to_move) == (set(), {"A3", "B2", "B1"}, W)
        assert not game.rules.suicide or rules == "tromp-taylor"
    assert the_error(moves=[["w", "A2"], ["b", "pass"], ["w", "B1"], ["b", "A1"]]) == ("moves", "Illegal move 3: A1")


def test_prisoners_of_the_game_before_are_komi() -> None:
    """Under territory scoring a game that begins anew counts what was taken before."""
    taken = [["b", "A1"], ["w", "A2"], ["b", "C3"], ["w", "B1"]]
    whole = last(moves=[*taken, ["b", "D4"]], rules="japanese", komi=0)
    anew = last(moves=[*taken, ["w", "pass"], ["b", "D4"]], rules="japanese", komi=0)
    assert (whole.captured(B), anew.captured(B), anew.rules.komi_half) == (1, 0, 2)
    assert whole.stones() == anew.stones()
    assert whole.score_half() == anew.score_half()
    assert last(moves=[*taken, ["w", "pass"], ["b", "D4"]], komi=0).rules.komi_half == 0


def test_a_game_that_is_over_is_searched_on() -> None:
    moves = [["b", "C3"], ["w", "pass"], ["b", "pass"]]
    game = last(moves=moves)
    assert (game.end, game.to_move, vertices(game, B)) == (End.NONE, W, {"C3"})
    assert last(moves=[*moves, ["w", "A1"]]).to_move == B
    assert len(the_answer(moves=moves)["moveInfos"]) > 0


def test_a_board_that_is_settled_is_searched_on() -> None:
    stones = [["b", f"{col}{row}"] for row in (2, 4) for col in "ABCDE"]
    found = the_answer(initialStones=stones, initialPlayer="w", includePolicy=True)
    assert found["rootInfo"]["currentPlayer"] == "W"
    assert found["moveInfos"]


@pytest.mark.parametrize(
    ("moves", "stones"),
    [
        ([], 0),
        ([(B, 0)], 0),
        ([(B, 0), (B, 1), (W, 2)], 2),
        ([(B, 0), (W, 25), (B, 1), (W, 3)], 2),
        ([(B, 0), (B, 1), (W, 2), (W, 3)], 0),
        ([(B, 0), (B, 25), (B, 1)], 2),
        ([(W, 0), (B, 1), (B, 2)], 0),
    ],
)
def test_handicap_is_counted(moves: list[tuple[Colour, int]], stones: int) -> None:
    assert handicap_stones(bytes(25), moves) == stones


def test_handicap_is_komi() -> None:
    stones = [["b", "A1"], ["b", "C3"]]
    for rules, more in (("chinese", 2), ("aga", 1), ("japanese", 0)):
        assert last(initialStones=stones, rules=rules, komi=0.5).rules.komi_half == 1 + 2 * more
    assert last(initialStones=stones, rules="japanese", komi=0.5, whiteHandicapBonus="N").rules.komi_half == 5
    assert last(initialStones=[*stones, ["w", "E5"]], rules="chinese", komi=0.5).rules.komi_half == 1


def test_a_very_long_game() -> None:
    moves = [["bw"[at % 2], "pass"] for at in range(20_000)]
    (found,) = talk(query(moves=moves, analyzeTurns=[20_000]))
    assert found["turnNumber"] == 20_000
