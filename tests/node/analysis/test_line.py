"""Lines: what is an object and what is an error; nothing but LineError escapes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.analysis.errors import LineError
from node.analysis.line import MOST_BYTES, MOST_DEPTH, encode_line, parse_line


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"nonsense", "could not parse input line as json request: nonsense"),
        (b"[1]", "was not an object, ignoring: [1]"),
        (b"3", "was not an object"),
        (b'{"id":NaN}', "NaN is no number of json"),
        (b'{"id":-Infinity}', "-Infinity is no number of json"),
        (b'{"id":1e999}', "is out of range"),
        (b'{"id":' + b"9" * 10_000 + b"}", "could not parse input line"),
        (b"\xff{}", "could not parse input line"),
        (b"{" * 100_000, "could not parse input line"),
        (b"[" * 100_000, "nested deeper than 16 levels"),
        (b'{"a":' + b"[" * MOST_DEPTH + b"]" * MOST_DEPTH + b"}", "nested deeper than 16 levels"),
        (b'{"a":"' + b"x" * MOST_BYTES + b'"}', "longer than 1048576 bytes"),
    ],
)
def test_what_is_no_query(line: bytes, sentence: str) -> None:
    with pytest.raises(LineError) as refused:
        parse_line(line)
    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)


def test_what_is_read() -> None:
    assert parse_line(b"  \r\n") is None
    assert parse_line(b"") is None
    assert parse_line(b' {"id":"a","id":"b"}\r\n') == {"id": "b"}
    deep = b'{"a":' + b"[" * (MOST_DEPTH - 2) + b"1" + b"]" * (MOST_DEPTH - 2) + b"}"
    assert parse_line(deep) is not None


def test_what_is_written() -> None:
    assert encode_line({"b": "\ud800é\n", "a": 1}) == '{"a":1,"b":"\\ud800\\u00e9\\n"}\n'


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=5))
def test_what_is_read_can_be_written(table: dict[str, object]) -> None:
    try:
        found = parse_line(json.dumps(table).encode())
    except LineError:
        return
    assert found == table
    assert parse_line(encode_line(found).encode()) == table


@given(st.binary(max_size=60))
def test_any_bytes(line: bytes) -> None:
    try:
        found = parse_line(line)
    except LineError:
        return
    assert found is None or isinstance(found, dict)
