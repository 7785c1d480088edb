"""Bitmaps of chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.blobs.bitmap import encode_bitmap, parse_bitmap
from protocol.errors import ParseError


@given(
    st.integers(0, 4096).flatmap(lambda count: st.tuples(st.just(count), st.sets(st.integers(0, max(count - 1, 0)))))
)
def test_what_is_encoded_is_parsed(given: tuple[int, set[int]]) -> None:
    count, held = given
    held = {index for index in held if index < count}
    data = encode_bitmap(held, count)
    assert len(data) == (count + 7) // 8
    assert parse_bitmap(data, count) == held


@given(st.integers(0, 64), st.binary(max_size=12))
def test_what_is_parsed_is_encoded_so(count: int, data: bytes) -> None:
    try:
        held = parse_bitmap(data, count)
    except ParseError:
        assert len(data) != (count + 7) // 8 or (count % 8 and data[-1] >> count % 8)
    else:
        assert encode_bitmap(held, count) == data


def test_bits() -> None:
    assert encode_bitmap([0, 9], 10) == b"\x01\x02"
    for wrong in (10, -1):
        with pytest.raises(IndexError):
            encode_bitmap([wrong], 10)
