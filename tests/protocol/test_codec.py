"""The canonical codec: round trips, one encoding only, and named errors for everything else."""

import math
import tracemalloc
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import codec
from protocol.errors import NotCanonical, ParseError, ProtocolError, TooLarge

THOROUGH = settings(deadline=None, max_examples=300)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(st.characters(codec="utf-8"), max_size=40)
    | st.binary(max_size=40)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\u00e9\U0001f3b2", max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
).filter(lambda value: depth(value) <= codec.MAX_DEPTH)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@THOROUGH
@given(values)
def test_decode_gives_back_what_encode_took(value: codec.Value) -> None:
    assert codec.decode(codec.encode(value)) == value


@THOROUGH
@given(st.dictionaries(st.text("abc\u00e9\u56f2\U0001f3b2", max_size=4), st.integers(0, 9), max_size=8), st.randoms())
def test_the_order_in_which_a_map_was_made_does_not_matter(value: dict[str, int], rng: Any) -> None:
    items = list(value.items())
    rng.shuffle(items)
    data = codec.encode(dict(items))
    assert data == codec.encode(value)
    keys = [key.encode() for key in msgpack.unpackb(data)]
    assert keys == sorted(keys)


@THOROUGH
@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_refused_by_name_or_are_the_one_encoding(data: bytes) -> None:
    try:
        value = codec.decode(data)
    except ProtocolError:
        return
    assert codec.encode(value) == data


@THOROUGH
@given(values, st.data())
def test_changed_bytes_never_decode_to_the_same_value(value: codec.Value, data: st.DataObject) -> None:
    whole = codec.encode(value)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    try:
        other = codec.decode(changed)
    except ProtocolError:
        return
    assert codec.encode(other) != whole


@THOROUGH
@given(values)
def test_every_prefix_is_refused(value: codec.Value) -> None:
    whole = codec.encode(value)
    for end in range(len(whole)):
        with pytest.raises(ParseError):
            codec.decode(whole[:end])


def test_tuples_are_written_as_lists() -> None:
    assert codec.encode(("a", (1, 2))) == codec.encode(["a", [1, 2]])


@pytest.mark.parametrize(
    "value", [1.0, math.nan, 2**64, -(2**63) - 1, {1: 2}, {b"a": 1}, {"a", "b"}, "\ud800", {"\ud800": 1}]
)
def test_encode_refuses_what_the_format_cannot_hold(value: Any) -> None:
    with pytest.raises(ParseError):
        codec.encode(value)


def test_encode_refuses_deep_values() -> None:
    value: Any = 1
    for _ in range(codec.MAX_DEPTH):
        value = [value]
    codec.encode(value)
    with pytest.raises(TooLarge):
        codec.encode([value])


def test_the_size_limit_is_the_callers() -> None:
    data = codec.encode(bytes(100))
    assert codec.decode(data, len(data)) == bytes(100)
    with pytest.raises(TooLarge):
        codec.decode(data, len(data) - 1)


def test_other_encoders_output_is_not_canonical() -> None:
    with pytest.raises(NotCanonical):
        codec.decode(msgpack.packb({"b": 1, "a": 2}))


def test_memory_stays_bounded_on_the_worst_record() -> None:
    bomb = b"\xdd" + (codec.MAX_BYTES - 5).to_bytes(4, "big") + b"\x80" * (codec.MAX_BYTES - 5)
    tracemalloc.start()
    try:
        with pytest.raises(NotCanonical):
            codec.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 32 * 1024 * 1024
    finally:
        tracemalloc.stop()


foreign = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc\u00e9", max_size=2) | st.binary(max_size=1), inner, max_size=3)
        | st.lists(inner, min_size=1, max_size=1).map(lambda items: [[[[items]]]])
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=300)
@given(foreign)
def test_what_is_read_is_judged_as_what_is_written(value: Any) -> None:
    data: bytes = msgpack.packb(value, use_bin_type=True)
    try:
        is_canonical = codec.encode(value) == data
    except ProtocolError:
        is_canonical = False
    if is_canonical:
        assert codec.decode(data) == value
    else:
        with pytest.raises(ProtocolError):
            codec.decode(data)
