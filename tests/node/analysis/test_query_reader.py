"""Queries: which fields are refused, in KataGo's words, and what is warned of."""

from typing import Any

import pytest

from native.rules import Colour
from native.search import Root
from node.analysis.query import Query
from node.analysis.query_reader import QueryReader
from node.analysis.settings import Settings
from tests.node.analysis.talk import HOUSE, query, small_reader, talk, the_answer, the_error, warnings_of
from tests.node.play.players import small_searcher

_MOVES = 'Must be an array of pairs of the form: ["b" or "w", GTP board vertex]'
_BARRING = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
_ENTRY = {"player": "B", "moves": ["A1"], "untilDepth": 1}
_BLACK = ["b", "A1"]


def read(**fields: Any) -> Query:
    """The query, of which nothing is warned."""

    def warn(field: str, sentence: str) -> None:
        raise AssertionError((field, sentence))

    return small_reader().read("q", query(**fields), warn)


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"boardXSize": None}, "boardXSize", "Must provide an integer from 2 to 19"),
        ({"boardYSize": None}, "boardYSize", "Must provide an integer from 2 to 19"),
        ({"boardXSize": 20, "boardYSize": 20}, "boardXSize", "Must provide an integer from 2 to 19"),
        ({"boardXSize": 1, "boardYSize": 1}, "boardXSize", "Must provide an integer from 2 to 19"),
        ({"boardXSize": 5.0}, "boardXSize", "Must provide an integer from 2 to 19"),
        ({"boardYSize": True}, "boardYSize", "Must provide an integer from 2 to 19"),
        ({"boardYSize": 6}, "boardYSize", "Must be the same as boardXSize: a network plays on square boards"),
        ({"moves": None}, "moves", "Must specify an array of [player,location] pairs"),
        ({"moves": "A1"}, "moves", _MOVES),
        ({"moves": [["b"]]}, "moves", _MOVES),
        ({"moves": [["b", 3]]}, "moves", _MOVES),
        ({"moves": [["x", "A1"]]}, "moves", "Could not parse player: x"),
        ({"moves": [["b", "F1"]]}, "moves", "Could not parse board location: F1"),
        ({"moves": [["b", "(5,0)"]]}, "moves", "Could not parse board location: (5,0)"),
        ({"moves": [["b", "A1"], ["w", "A1"]]}, "moves", "Illegal move 1: A1"),
        ({"initialStones": [["b", "pass"]]}, "initialStones", "Could not parse board location: pass"),
        (
            {"initialStones": [["b", "A1"], ["w", "A2"], ["w", "B1"]]},
            "initialStones",
            "Some of the stones have no liberty",
        ),
        ({"initialPlayer": "x"}, "initialPlayer", 'Must be "b" or "w"'),
        ({"analyzeTurns": [0.5]}, "analyzeTurns", "Must specify an array of integers indicating turns to analyze"),
        ({"analyzeTurns": [1]}, "analyzeTurns", "Invalid turn number: 1"),
        ({"analyzeTurns": [-1]}, "analyzeTurns", "Invalid turn number: -1"),
        ({"priority": 2**63}, "priority", "Must be a number between -2^62 and 2^62"),
        ({"priorities": [1]}, "priorities", "Can only specify when also specifying analyzeTurns"),
        ({"priorities": [1, 2], "analyzeTurns": [0]}, "priorities", "Must be of matching length to analyzeTurns"),
        ({"priorities": [2**63], "analyzeTurns": [0]}, "priorities", f"Invalid priority: {2**63}"),
        (
            {"priorities": [1], "analyzeTurns": [0], "priority": 1},
            "priority",
            "Cannot specify both priority and priorities",
        ),
        ({"maxVisits": 0}, "maxVisits", "Must be an integer from 1 to 2^50"),
        ({"maxVisits": "9"}, "maxVisits", "Must be an integer from 1 to 2^50"),
        ({"analysisPVLen": 0}, "analysisPVLen", "Must be an integer from 1 to 1000"),
        ({"rootPolicyTemperature": 0}, "rootPolicyTemperature", "Must be a number from 0.01 to 100.0"),
        ({"rootFpuReductionMax": -1}, "rootFpuReductionMax", "Must be a number from 0.0 to 2.0"),
        ({"includeOwnership": 1}, "includeOwnership", "Must be a boolean"),
        ({"includeNoResultValue": "yes"}, "includeNoResultValue", "Must be a boolean"),
        (
            {"reportDuringSearchEvery": 0},
            "reportDuringSearchEvery",
            "Must be number of seconds from 0.001 to 1000000.0",
        ),
        ({"overrideSettings": []}, "overrideSettings", "Must be an object"),
        (
            {"overrideSettings": {"reportAnalysisWinratesAs": "me"}},
            "overrideSettings",
            "Could not set settings: Could not parse config value for reportAnalysisWinratesAs: me",
        ),
        ({"avoidMoves": {}}, "avoidMoves", _BARRING),
        ({"avoidMoves": [{"moves": [], "untilDepth": 1}]}, "avoidMoves", _BARRING),
        ({"avoidMoves": [{**_ENTRY, "player": 1}]}, "player", 'Must be "b" or "w"'),
        ({"avoidMoves": [{**_ENTRY, "untilDepth": 0}]}, "untilDepth", "Must be a positive integer"),
        ({"avoidMoves": [{**_ENTRY, "moves": "A1"}]}, "moves", "Must be an array of GTP board vertices"),
        ({"avoidMoves": [], "allowMoves": []}, "allowMoves", "Cannot specify both allowMoves and avoidMoves"),
        (
            {"allowMoves": [_ENTRY, _ENTRY]},
            "allowMoves",
            "Cannot specify allowMoves more than once for the same player",
        ),
    ],
)
def test_what_is_refused(fields: dict[str, Any], field: str, sentence: str) -> None:
    assert the_error(**fields) == (field, sentence)


def test_turns_and_priorities() -> None:
    moves = [["b", "A1"], ["w", "(1,1)"], ["black", "pass"]]
    found = read(moves=moves, analyzeTurns=[3, 0, 3], priorities=[5, -2, 7])
    assert (found.turns, found.priorities) == ((0, 3), (-2, 7))
    assert (read(moves=moves).turns, read(moves=moves).priorities) == ((3,), (0,))
    assert read(moves=moves, priority=9).priorities == (9,)
    assert found.moves == ((Colour.BLACK, 20), (Colour.WHITE, 6), (Colour.BLACK, 25))


def test_who_begins() -> None:
    stones = [["b", "A1"], ["b", "C3"]]
    assert read().first == Colour.BLACK
    assert read(initialStones=stones).first == Colour.WHITE
    assert read(initialStones=stones[:1]).first == Colour.BLACK
    assert read(initialStones=[*stones, ["w", "E5"]]).first == Colour.BLACK
    assert read(initialStones=stones, moves=[["b", "D4"]]).first == Colour.BLACK
    assert read(initialPlayer="W").first == Colour.WHITE


def test_what_is_warned_of() -> None:
    settings = {"wideRootNoise": 0.04, "antiMirror": False, "playoutDoublingAdvantage": "0.0", "maxTime": 8}
    assert warnings_of(overrideSettings=settings) == {
        "overrideSettings": "Config params that are not followed here: wideRootNoise"
    }
    assert warnings_of(initialPlayr="b", includeOwnershipStdev=True, includeNoResultValue=False) == {
        "initialPlayr": "Unexpected or unused field, do you have a typo?",
        "includeOwnershipStdev": "Not known to this engine, so answers are without it",
    }
    assert warnings_of(avoidMoves=[{**_ENTRY, "untilDepth": 2}]).keys() == {"avoidMoves"}
    assert "rootInfo" in the_answer(komi=None)


def test_unused_fields_need_not_be_warned_of() -> None:
    reader = QueryReader(HOUSE, Settings(), Root.PUCT, square=True, unused=False)
    said: list[str] = []
    reader.read("q", query(other=1), lambda field, sentence: said.append(field))
    assert said == []


def test_the_root_says_what_can_be_followed() -> None:
    said: list[str] = []
    for root, expected in ((Root.PUCT, 500_000), (Root.GUMBEL, None)):
        reader = QueryReader(HOUSE, Settings(), root, square=True)
        found = reader.read("q", query(rootFpuReductionMax=0.5), lambda field, sentence: said.append(field))
        assert found.settings.root_fpu_micro == expected
    assert said == ["rootFpuReductionMax"]


def test_without_a_network_boards_may_be_rectangles() -> None:
    (found,) = talk(query(boardYSize=3, includePolicy=True, includeOwnership=True), searcher=small_searcher())
    assert len(found["policy"]) == 16
    assert "ownership" not in found
