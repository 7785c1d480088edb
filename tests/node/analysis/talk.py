"""Talks with the analysis server in this process: lines in, objects out, and what every object has to look like."""

from __future__ import annotations

import io
import json
from typing import Any

from native.rules import Rules
from node.analysis.inbox import Inbox
from node.analysis.query_reader import QueryReader
from node.analysis.server import serve
from node.analysis.settings import Settings
from node.play.searcher import Searcher
from tests.node.play.players import small_network, small_searcher

HOUSE = Rules(19, 19, 15, pass_alive=True, settled_end=True)
VISITS = 8

Object = dict[str, Any]


def small_reader(searcher: Searcher | None = None) -> QueryReader:
    """It reads as the server does for that player, or for the small network."""
    searcher = searcher or small_searcher(small_network())
    square = searcher.network is not None
    return QueryReader(HOUSE, Settings(visits=VISITS), searcher.config.root, square=square)


def query(name: str = "q", **fields: Any) -> Object:
    """A query about the empty board of 5 by 5, unless the fields say otherwise; None leaves a field out."""
    table = {"id": name, "moves": [], "rules": "tromp-taylor", "komi": 0.5, "boardXSize": 5, "boardYSize": 5, **fields}
    return {key: value for key, value in table.items() if value is not None}


def talk_bytes(data: bytes, searcher: Searcher | None = None, threads: int = 1, *, waits: bool = True) -> list[Object]:
    """What the server answers, each line checked."""
    searcher, out = searcher or small_searcher(small_network()), io.StringIO()
    serve(searcher, small_reader(searcher), threads, Inbox(io.BytesIO(data)), out, waits=waits)
    text = out.getvalue()
    assert not text or text.endswith("\n")
    found = [json.loads(line, parse_constant=_refuse) for line in text.splitlines()]
    for each in found:
        verify_form(each)
    return found


def talk(*queries: Object, searcher: Searcher | None = None, threads: int = 1, waits: bool = True) -> list[Object]:
    """What the server answers to these."""
    data = b"".join(json.dumps(each).encode() + b"\n" for each in queries)
    return talk_bytes(data, searcher, threads, waits=waits)


def the_answer(**fields: Any) -> Object:
    """The one answer to one query; warnings are left out."""
    (found,) = [each for each in talk(query(**fields)) if "warning" not in each]
    return found


def the_error(**fields: Any) -> tuple[str, str]:
    """The field and the sentence of the one answer."""
    (found,) = talk(query(**fields))
    assert found.keys() == {"error", "field", "id"}
    return found["field"], found["error"]


def warnings_of(**fields: Any) -> dict[str, str]:
    """The warnings of one query, by field; the query is answered all the same."""
    *warned, last = talk(query(**fields))
    assert "moveInfos" in last
    assert all(each.keys() == {"warning", "field", "id"} for each in warned)
    return {each["field"]: each["warning"] for each in warned}


def verify_form(answer: Object) -> None:
    """Raises AssertionError unless this is an answer of one of the protocol's kinds."""
    if "error" in answer or "warning" in answer:
        said = answer.get("error", answer.get("warning"))
        assert isinstance(said, str)
        assert len(said) > 3
        assert "\n" not in said
        assert answer.keys() - {"error", "warning"} in (set(), {"id"}, {"id", "field"})
    elif "action" not in answer:
        assert isinstance(answer["id"], str)
        assert isinstance(answer["turnNumber"], int)
        assert answer.get("noResults") is True or {"moveInfos", "rootInfo"} <= answer.keys()
        assert isinstance(answer["isDuringSearch"], bool)


def _refuse(word: str) -> float:
    raise AssertionError(f"{word} is not JSON")
