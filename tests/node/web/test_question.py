"""Questions as JSON that anybody may have written: within their bounds, or one sentence that repeats nothing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.play.limits import MOST_VISITS
from node.web.queries.records import BadQuestion
from node.web.question import MOST_BYTES, MOST_MOVES, Question

GOOD: dict[str, Any] = {"size": 9, "komi": 7.5, "moves": [40, 81], "visits": 100, "analysis": True}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=10,
)


def parsed(**changes: Any) -> Question:
    """The good question with some values changed."""
    return Question.parse(json.dumps({**GOOD, **changes}).encode())


def test_a_good_question() -> None:
    assert parsed() == Question(9, 15, (40, 81), 100, True)
    assert Question.parse(b'{"size": 7, "komi": -3, "moves": []}') == Question(7, -6, (), 0, False)
    assert parsed(komi=81).komi_half == 162
    longest = parsed(size=19, moves=[361] * MOST_MOVES)
    assert len(longest.moves) == MOST_MOVES
    text = json.dumps({**GOOD, "size": 19, "moves": [361] * MOST_MOVES}, separators=(",", ":"))
    assert len(text) < MOST_BYTES, "the longest game can be asked about"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"size": 6}, "size has to be a whole number from 7 to 19."),
        ({"size": 20}, "size has"),
        ({"size": "9"}, "size has"),
        ({"size": True}, "size has"),
        ({"size": 9.0}, "size has"),
        ({"komi": 81.5}, "komi has to be a whole or half number from -81 to 81."),
        ({"komi": 7.25}, "komi has"),
        ({"komi": 10**400}, "komi has"),
        ({"komi": True}, "komi has"),
        ({"komi": None}, "komi has"),
        ({"moves": {}}, "moves has to be a list"),
        ({"moves": [0] * (MOST_MOVES + 1)}, "moves has to be a list"),
        ({"moves": [82]}, "Each move has to be a whole number from 0 to 81, which is the pass."),
        ({"moves": [-1]}, "Each move has"),
        ({"moves": [True]}, "Each move has"),
        ({"moves": [1.0]}, "Each move has"),
        ({"visits": MOST_VISITS + 1}, "visits has to be a whole number from 0"),
        ({"visits": -1}, "visits has"),
        ({"analysis": 1}, "analysis has to be true or false."),
        ({"more": 1}, "The question has to be an object with size, komi and moves"),
    ],
)
def test_what_is_no_question(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(BadQuestion, match=why.replace(".", r"\.")):
        parsed(**changes)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[",
        b"\xff",
        b"NaN",
        b"[" * MOST_BYTES,
        b'{"a":' * (MOST_BYTES // 5),
        b'{"size": 9, "komi": NaN, "moves": []}',
        b'{"size": 9, "komi": Infinity, "moves": []}',
        b'{"size": 9, "komi": 1e999, "moves": []}',
        b"9" * MOST_BYTES,
        b'{"size": 9, "komi": 7}',
        b"[]",
        b"null",
    ],
)
def test_what_is_not_even_near(data: bytes) -> None:
    with pytest.raises(BadQuestion):
        Question.parse(data)


@given(st.dictionaries(st.sampled_from([*GOOD, "other"]), VALUES))
def test_hostile_values_become_one_sentence(changes: dict[str, Any]) -> None:
    check(json.dumps({**GOOD, **changes}).encode())


@given(
    st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
)
def test_hostile_bytes_become_one_sentence(data: bytes) -> None:
    check(data)


def check(data: bytes) -> None:
    """Whatever was sent, a question is within its bounds."""
    refusal = ""
    try:
        found = Question.parse(data)
    except BadQuestion as error:
        refusal = str(error)
    if refusal:
        assert refusal.isascii()
        assert refusal.endswith(".")
        return
    assert 7 <= found.size <= 19
    assert abs(found.komi_half) <= 2 * found.size**2
    assert 0 <= found.visits <= MOST_VISITS
    assert all(0 <= move <= found.size**2 for move in found.moves)
