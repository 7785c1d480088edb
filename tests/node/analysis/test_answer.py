"""Answers: their fields, for whom they are told, the names of positions."""

import pytest

from native.game import Game
from native.rules import Rules
from node.analysis.position_hash import position_hashes
from node.exchange.values import parse_vertex
from tests.node.analysis.talk import Object, the_answer

MOVES = [["b", "C3"], ["w", "C4"], ["b", "D4"]]
ALL = {
    *("includeOwnership", "includeMovesOwnership", "includePolicy", "includePVVisits"),
}
SCORES = ("scoreLead", "scoreMean", "scoreSelfplay")


def answer(perspective: str, turns: int = 3, **fields: object) -> Object:
    wishes = dict.fromkeys(ALL, True)
    settings = {"reportAnalysisWinratesAs": perspective}
    return the_answer(moves=MOVES[:turns], maxVisits=60, overrideSettings=settings, **wishes, **fields)


def test_the_fields() -> None:
    found = answer("BLACK")
    assert found.keys() == {
        *("id", "turnNumber", "isDuringSearch", "moveInfos", "rootInfo", "ownership", "policy"),
    }
    assert (found["turnNumber"], found["isDuringSearch"]) == (3, False)
    for order, move in enumerate(found["moveInfos"]):
        assert move.keys() == {
            *("move", "visits", "edgeVisits", "winrate", "utility", "lcb", "utilityLcb", "prior", "order", "pv"),
            *("pvVisits", "pvEdgeVisits", "ownership", *SCORES),
        }
        assert move["order"] == order
        assert move["pv"][0] == move["move"]
        assert len(move["pv"]) == len(move["pvVisits"])
        assert move["pvVisits"][0] == move["visits"] == move["edgeVisits"]
        assert len(move["ownership"]) == 25
        assert move["utility"] == pytest.approx(2 * move["winrate"] - 1, abs=1e-7)
    root = found["rootInfo"]
    assert {*SCORES, "winrate", "rawWinrate", "rawLead", "thisHash", "symHash", "currentPlayer"} < root.keys()
    assert (root["visits"], root["currentPlayer"]) == (60, "W")
    assert sum(move["visits"] for move in found["moveInfos"]) == 59
    assert len(found["ownership"]) == 25


def test_the_policy() -> None:
    policy = answer("BLACK")["policy"]
    assert len(policy) == 26
    assert {point for point, share in enumerate(policy) if share == -1} == {
        parse_vertex(vertex, 5, 5) for _, vertex in MOVES
    }
    assert sum(share for share in policy if share >= 0) == pytest.approx(1, abs=1e-6)


def test_perspectives() -> None:
    for turns, to_move in ((2, "BLACK"), (3, "WHITE")):
        black, white, own = (answer(each, turns) for each in ("BLACK", "white", "SideToMove"))
        assert own == {"BLACK": black, "WHITE": white}[to_move]
        assert black["policy"] == white["policy"]
        assert black["ownership"] == pytest.approx([-each for each in white["ownership"]])
        pairs = [(black["rootInfo"], white["rootInfo"])]
        pairs += zip(black["moveInfos"], white["moveInfos"], strict=True)
        for one, other in pairs:
            assert one["winrate"] == pytest.approx(1 - other["winrate"], abs=1e-7)
            assert one["scoreLead"] == pytest.approx(-other["scoreLead"])
            assert one["utility"] == pytest.approx(-other["utility"])
            if "lcb" in one:
                assert one["lcb"] == pytest.approx(1 - other["lcb"], abs=1e-7)
                assert one["ownership"] == pytest.approx([-each for each in other["ownership"]])


def test_ownership_after_a_move_is_that_of_its_position() -> None:
    for perspective in ("BLACK", "WHITE"):
        first = answer(perspective, 2)["moveInfos"][0]
        after = the_answer(
            moves=[*MOVES[:2], ["b", first["move"]]],
            includeOwnership=True,
            overrideSettings={"reportAnalysisWinratesAs": perspective},
        )
        assert first["ownership"] == after["ownership"]


def test_lines_are_as_long_as_asked() -> None:
    lengths = [len(move["pv"]) for move in answer("BLACK", analysisPVLen=1)["moveInfos"]]
    assert max(lengths) == 2
    assert max(len(move["pv"]) for move in answer("BLACK")["moveInfos"]) > 2


def test_one_visit() -> None:
    found = the_answer(maxVisits=1, includePolicy=True)
    assert (found["moveInfos"], found["rootInfo"]["visits"]) == ([], 1)
    assert found["rootInfo"]["winrate"] == found["rootInfo"]["rawWinrate"]


def hashes(*moves: int, rows: int = 5, cols: int = 5) -> tuple[str, str]:
    game = Game(Rules(rows, cols, 1))
    for move in moves:
        game.play(move)
    return position_hashes(game)


def test_names_of_positions() -> None:
    assert hashes(0) != hashes(4)
    assert len({hashes(corner)[1] for corner in (0, 4, 20, 24)}) == 1
    assert len({hashes(corner, rows=3)[1] for corner in (0, 4, 10, 14)}) == 1
    assert hashes(0)[1] != hashes(1)[1]
    assert hashes(0, 6, 12)[0] == hashes(12, 6, 0)[0]
    assert hashes(0, 25)[0] != hashes(0)[0]
    assert all(len(each) == 32 and set(each) <= set("0123456789ABCDEF") for each in hashes(7))


def test_a_ko_is_part_of_the_name() -> None:
    """The same stones with the same player to move, once after a ko was taken."""
    points = [parse_vertex(vertex, 5, 5) for vertex in ("B2", "C2", "A1", "D1", "E5", "B1", "C1")]
    game = Game(Rules(5, 5, 1))
    for point in points:
        game.play(point)
    plain = Game(game.rules, game.stones(), game.to_move)
    assert position_hashes(game) != position_hashes(plain)
