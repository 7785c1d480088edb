"""Records as JSON: what goes out comes back, and what is not as the dataclass says is one sentence."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.json_record import JsonFault, encode_record, parse_record, value_of


@dataclass(frozen=True, slots=True)
class Inner:
    """A part."""

    key: bytes
    share: float


@dataclass(frozen=True, slots=True)
class Outer:
    """A record with every kind of field."""

    count: int
    is_there: bool
    name: str | None
    first: Inner | None
    parts: tuple[Inner, ...]
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError(f"count {self.count} is below 0")


FULL = Outer(7, True, "mira", Inner(b"\x0f", 0.5), (Inner(b"", 2.0), Inner(b"\xff\0", -1.5)), ("a", "b"))
EMPTY = Outer(0, False, None, None, (), ())


@pytest.mark.parametrize("record", [FULL, EMPTY])
def test_what_goes_out_comes_back(record: Outer) -> None:
    assert parse_record(Outer, json.loads(json.dumps(encode_record(record), allow_nan=False))) == record


def test_the_object() -> None:
    assert encode_record(FULL) == {
        "count": 7,
        "is_there": True,
        "name": "mira",
        "first": {"key": "0f", "share": 0.5},
        "parts": [{"key": "", "share": 2.0}, {"key": "ff00", "share": -1.5}],
        "words": ["a", "b"],
    }


def test_more_keys_are_passed_over() -> None:
    assert parse_record(Outer, {**encode_record(FULL), "later": [1]}) == FULL


def test_an_absent_record_may_be_an_empty_object() -> None:
    assert parse_record(Outer, {**encode_record(FULL), "first": {}}).first is None


def test_fields_that_are_given_are_not_read() -> None:
    assert parse_record(Inner, {"key": 5, "share": 1}, key=b"k") == Inner(b"k", 1.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"count": "7"}, "count is '7'"),
        ({"count": 7.0}, "count is 7.0"),
        ({"count": True}, "count is True"),
        ({"count": -1}, "count -1 is below 0"),
        ({"is_there": 1}, "is_there is 1"),
        ({"name": 5}, "name is 5"),
        ({"words": "ab"}, "words is 'ab'"),
        ({"words": ["a", None]}, "words[1] is None"),
        ({"first": []}, "first is [] and no object"),
        ({"parts": {}}, "parts is {}"),
        ({"parts": [{"key": "ff"}]}, "parts[0].share is missing"),
        ({"parts": [{"key": "f", "share": 1}]}, "parts[0].key is 'f'"),
        ({"parts": [{"key": 5, "share": 1}]}, "parts[0].key is 5"),
        ({"parts": [{"key": "ff", "share": float("inf")}]}, "parts[0].share is inf"),
        ({"parts": [{"key": "ff", "share": 10**400}]}, "parts[0].share is 1000"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(JsonFault) as found:
        parse_record(Outer, {**encode_record(FULL), **change})
    assert str(found.value).startswith(sentence)
    assert len(str(found.value)) < 100


@pytest.mark.parametrize("table", [None, [], "x", 5])
def test_what_is_no_object(table: Any) -> None:
    with pytest.raises(JsonFault, match=r"^it is .* and no object$"):
        parse_record(Outer, table)
    with pytest.raises(JsonFault, match=r"^it is .* and no object$"):
        value_of(table, "count", int)


def test_one_value() -> None:
    assert value_of({"at": 1}, "at", float) == 1.0
    with pytest.raises(JsonFault, match=r"^at is missing$"):
        value_of({}, "at", int)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(tuple(encode_record(FULL))), inner),
    max_leaves=8,
)


@given(JSON, st.sampled_from(tuple(encode_record(FULL))))
def test_whatever_comes_is_a_record_or_a_sentence(value: Any, name: str) -> None:
    for table in (value, {**encode_record(FULL), name: value}):
        try:
            found = parse_record(Outer, table)
        except JsonFault:
            continue
        assert parse_record(Outer, encode_record(found)) == found
