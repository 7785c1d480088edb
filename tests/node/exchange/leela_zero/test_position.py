"""A position to train on as Leela Zero's 19 lines."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from native.rules import Colour
from node.exchange.errors import TrainingFileError
from node.exchange.leela_zero.position import PACKED_BYTES, POINTS, TrainingPosition, leela_point

CORNER = 1 << (POINTS - 1)


@st.composite
def positions(draw: st.DrawFn) -> TrainingPosition:
    own = draw(st.lists(st.integers(0, (1 << POINTS) - 1), min_size=8, max_size=8))
    other = draw(st.lists(st.integers(0, (1 << POINTS) - 1), min_size=8, max_size=8))
    visits = draw(st.dictionaries(st.integers(0, POINTS), st.integers(1, 5000), min_size=1, max_size=30))
    total = sum(visits.values())
    policy = tuple(float(f"{visits.get(point, 0) / total:.6g}") for point in range(POINTS + 1))
    planes = (*own, *(two & ~one for one, two in zip(own, other, strict=True)))
    return TrainingPosition(planes, draw(st.sampled_from([Colour.BLACK, Colour.WHITE])), policy, draw(st.booleans()))


def plain() -> TrainingPosition:
    return TrainingPosition((CORNER, *[0] * 14, 1), Colour.WHITE, (0.25, *[0.0] * 360, 0.75), False)


@given(positions())
def test_what_is_written_reads_back_equal(position: TrainingPosition) -> None:
    text = position.encode()
    assert text.count("\n") == 19
    again = TrainingPosition.parse(text.splitlines())
    assert again == position
    assert again.encode() == text


@given(positions())
def test_the_packed_form(position: TrainingPosition) -> None:
    packed = position.pack()
    assert len(packed) == PACKED_BYTES == 2176
    version, *policy = struct.unpack_from("<i362f", packed)
    assert version == 1
    assert policy == pytest.approx(position.policy, rel=1e-6)
    bits = "".join(f"{byte:08b}" for byte in packed[4 + 4 * 362 : -2])
    assert [int(bits[at : at + 361], 2) for at in range(0, len(bits), 361)] == list(position.planes)
    assert packed[-2:] == bytes((position.to_move == Colour.WHITE, position.is_won))


def test_the_text_as_leela_zero_writes_it() -> None:
    lines = plain().encode().splitlines()
    assert lines[0] == "8" + "0" * 90
    assert lines[15] == "0" * 90 + "1"
    assert lines[16:] == ["1", "0.25" + " 0" * 360 + " 0.75", "-1"]


@pytest.mark.parametrize(
    ("number", "line", "sentence"),
    [
        (0, "0" * 90, "Line 1 is not 90 hexadecimal digits and a bit"),
        (15, "0" * 90 + "2", "Line 16 is not 90 hexadecimal digits and a bit"),
        (3, "g" * 90 + "1", "Line 4 is not"),
        (3, "0" * 90 + "1\n", "Line 4 is not"),
        (8, "8" + "0" * 90, "stones of both players"),
        (16, "2", "side to move is neither 0 nor 1"),
        (16, "", "side to move"),
        (17, "1" + " 0" * 360, "has 361 numbers, not 362"),
        (17, "0.5" + " 0" * 361, "adds up to 0.5, not to 1"),
        (17, "nan" + " 0" * 361, "something other than decimal numbers"),
        (17, "-1 2" + " 0" * 360, "something other than decimal numbers"),
        (17, "2" + " 0" * 361, "not between 0 and 1"),
        (17, "1  0" + " 0" * 360, "something other than decimal numbers"),
        (18, "0", "outcome is neither 1 nor -1"),
    ],
)
def test_what_is_wrong_is_said(number: int, line: str, sentence: str) -> None:
    lines = plain().encode().splitlines()
    lines[number] = line
    with pytest.raises(TrainingFileError, match=sentence):
        TrainingPosition.parse(lines)


def test_records_that_no_file_holds() -> None:
    good = plain()
    for planes, to_move, policy in (
        (good.planes[:15], good.to_move, good.policy),
        ((1 << POINTS, *good.planes[1:]), good.to_move, good.policy),
        (good.planes, Colour.EMPTY, good.policy),
        (good.planes, good.to_move, (float("nan"), *good.policy[1:])),
    ):
        with pytest.raises(TrainingFileError):
            TrainingPosition(planes, to_move, policy, True)


def test_points() -> None:
    assert [leela_point(point) for point in (0, 18, 342, 360, 361)] == [342, 360, 0, 18, 361]
    assert all(leela_point(leela_point(point)) == point for point in range(POINTS + 1))
