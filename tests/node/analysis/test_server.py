"""Talks with the server: actions, reports, several positions at once, and lines of every kind."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.analysis.settings import perspective_called
from tests.node.analysis.talk import Object, query, talk, talk_bytes, the_answer

MOVES = [["b", "C3"], ["w", "C4"], ["b", "D4"]]


def without_name(answer: Object) -> Object:
    return {key: value for key, value in answer.items() if key != "id"}


def test_turns_are_answered_each() -> None:
    found = talk(query(moves=MOVES, analyzeTurns=[3, 1, 0]))
    assert [each["turnNumber"] for each in found] == [0, 1, 3]
    assert [each["rootInfo"]["currentPlayer"] for each in found] == ["B", "W", "W"]
    assert found[1] == {**the_answer(moves=MOVES[:1]), "id": "q"}


def test_priorities_of_turns() -> None:
    """They come to the desk together, so that the one thread takes them in order."""
    found = talk(query(moves=MOVES, analyzeTurns=[0, 1, 2, 3], priorities=[1, 2, 3, 4]))
    assert [each["turnNumber"] for each in found] == [3, 2, 1, 0]


def test_many_threads_give_the_same_answers() -> None:
    queries = [query(str(turn), moves=MOVES[:turn], maxVisits=30 + turn) for turn in range(4)] * 3
    one, many = talk(*queries), talk(*queries, threads=4)

    def key(answer: Object) -> str:
        return json.dumps(answer, sort_keys=True)

    assert sorted(map(key, one)) == sorted(map(key, many))
    assert len(one) == 12


def test_reports_change_nothing_of_the_answer() -> None:
    alone = the_answer(maxVisits=300)
    *during, last = talk(query(maxVisits=300, reportDuringSearchEvery=0.001))
    assert last == alone
    assert [each["isDuringSearch"] for each in during] == [True] * len(during)
    visits = [each["rootInfo"]["visits"] for each in (*during, last)]
    assert len(visits) > 2
    assert visits == sorted(set(visits))


def test_moves_that_are_barred() -> None:
    named = {"player": "B", "moves": ["C3", "pass"], "untilDepth": 1}
    allowed = the_answer(allowMoves=[named], maxVisits=20)
    assert {each["move"] for each in allowed["moveInfos"]} == {"C3", "pass"}
    avoided = the_answer(avoidMoves=[named, {**named, "moves": ["C2"]}], maxVisits=20)
    assert not {each["move"] for each in avoided["moveInfos"]} & {"C3", "C2", "pass"}
    other = {**named, "player": "W"}
    assert the_answer(avoidMoves=[other], maxVisits=20) == the_answer(maxVisits=20)


def test_settings_are_followed() -> None:
    plain = the_answer(maxVisits=60)
    assert the_answer(overrideSettings={"maxVisits": "60"}) == plain
    flat = the_answer(maxVisits=60, rootPolicyTemperature=100)
    assert flat == the_answer(maxVisits=60, overrideSettings={"rootPolicyTemperature": 100})
    for changes in ({"rootPolicyTemperature": 100}, {"cpuctExploration": 10}, {"rootFpuReductionMax": 2}):
        assert the_answer(maxVisits=60, overrideSettings=changes) != plain, changes
    assert perspective_called("b") == perspective_called("Black")


def test_actions() -> None:
    version, models, cleared = talk(
        {"id": "a", "action": "query_version", "more": [1]},
        {"id": "b", "action": "query_models"},
        {"id": "c", "action": "clear_cache"},
    )
    assert (version["id"], version["more"], version["git_hash"]) == ("a", [1], "<omitted>")
    assert version["version"].count(".") == 2
    (model,) = models["models"]
    assert (model["name"], model["internalName"], model["usesHumanSLProfile"]) == ("small", bytes(32).hex(), False)
    assert cleared == {"id": "c", "action": "clear_cache"}


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ({"action": "dance"}, {"error": "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or"
          " 'terminate' or 'terminate_all'"}),
        ({"action": "terminate"}, {"id": "q", "field": "terminateId",
          "error": 'Requests for a terminate action must have a string "terminateId" field'}),
        ({"action": "terminate_all", "turnNumbers": 3}, {"id": "q", "field": "turnNumbers",
          "error": "If provided, must be an array of integers indicating turns to terminate"}),
    ],
)  # fmt: skip
def test_actions_that_are_refused(action: Object, answer: Object) -> None:
    assert talk({"id": "q", **action}) == [answer]


@pytest.mark.parametrize(
    ("action", "ended"),
    [
        ({"action": "terminate_all"}, {("long", 0), ("a", 0), ("a", 1), ("b", 0)}),
        ({"action": "terminate_all", "turnNumbers": [1, 2]}, {("a", 1)}),
        ({"action": "terminate", "terminateId": "b"}, {("b", 0)}),
        ({"action": "terminate", "terminateId": "a", "turnNumbers": [1]}, {("a", 1)}),
        ({"action": "terminate", "terminateId": "c"}, set()),
    ],
)
def test_ended_queries_have_one_last_answer(action: Object, ended: set[tuple[str, int]]) -> None:
    """A long search comes first, so that the others wait for the one thread while they are ended."""
    long = query("long", boardXSize=19, boardYSize=19, maxVisits=400)
    others = [query("a", moves=MOVES, analyzeTurns=[0, 1]), query("b", analyzeTurns=[0])]
    found = talk(long, *others, {"id": "end", **action})
    last = [(each["id"], each["turnNumber"]) for each in found if "action" not in each]
    assert sorted(last) == [("a", 0), ("a", 1), ("b", 0), ("long", 0)]
    assert {(each["id"], each["turnNumber"]) for each in found if each.get("noResults")} == ended
    assert {"id": "end", **action} in found


def test_a_query_that_ponders_is_ended_with_what_it_found() -> None:
    found = talk(
        query("ponder", maxVisits=10_000_000, reportDuringSearchEvery=0.001), {"id": "end", "action": "terminate_all"}
    )
    lasts = [each for each in found if each.get("isDuringSearch") is False]
    assert len(lasts) == 1
    assert [each["id"] for each in found if "warning" in each] == ["ponder"]


def test_without_waiting_nothing_more_comes() -> None:
    found = talk(*(query(str(number), maxVisits=500) for number in range(30)), waits=False)
    assert len(found) < 30


def test_lines_that_are_no_queries() -> None:
    found = talk_bytes(b'\n  \r\nnonsense\n{"id":3}\n{}\n[]\n{"id":"a","action":1}\n' + b"[" * (3 << 20))
    assert [set(each) for each in found] == [{"error"}] * 4 + [{"error", "field", "id"}, {"error"}]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=6)
    | st.sampled_from(["B", "w", "C3", "pass", "(1,1)", "chinese", "WHITE"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_FIELDS = st.sampled_from(
    [
        *("moves", "initialStones", "initialPlayer", "rules", "komi", "boardXSize", "boardYSize", "analyzeTurns"),
        *("maxVisits", "avoidMoves", "allowMoves", "overrideSettings", "priority", "priorities", "analysisPVLen"),
        *("reportDuringSearchEvery", "rootPolicyTemperature", "includeOwnership", "whiteHandicapBonus", "action"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(_FIELDS, _JSON, max_size=3))
def test_any_values_of_fields(changes: dict[str, Any]) -> None:
    """An error, or warnings and one last answer a turn."""
    visits = changes.get("maxVisits")
    if isinstance(visits, int) and visits > 200:
        changes["maxVisits"] = 200
    found = talk_bytes(json.dumps(query(**{**query(), **changes})).encode())
    kinds = [next((kind for kind in ("error", "warning") if kind in each), "answer") for each in found]
    if "error" in kinds:
        assert kinds.count("error") == 1
        assert kinds[-1] == "error"
    elif changes.get("action") is None or not isinstance(changes["action"], str):
        lasts = [each["turnNumber"] for each in found if each.get("isDuringSearch") is False]
        assert lasts == sorted(set(lasts))
