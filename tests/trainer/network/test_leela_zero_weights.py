"""Leela Zero's weights files: what is written reads back equal, and what is wrong is one sentence."""

import gzip
import os

import numpy as np
import pytest

from trainer.errors import BadWeights
from trainer.network.leela_zero import LeelaZeroNet
from trainer.network.leela_zero_weights import MAX_BLOCKS, MAX_CHANNELS, LeelaZeroWeights, line_sizes


@pytest.fixture(scope="module")
def weights() -> LeelaZeroWeights:
    return LeelaZeroNet.seeded(1, 4, 9).weights()


@pytest.fixture(scope="module")
def text(weights: LeelaZeroWeights) -> bytes:
    return weights.encode()


def equal(one: LeelaZeroWeights, two: LeelaZeroWeights) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.lines, two.lines, strict=True))


def with_line(text: bytes, number: int, line: bytes) -> bytes:
    lines = text.split(b"\n")
    lines[number - 1] = line
    return b"\n".join(lines)


def refusal(data: bytes) -> str:
    with pytest.raises(BadWeights) as caught:
        LeelaZeroWeights.parse(data)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_the_file_reads_back_equal(weights: LeelaZeroWeights, text: bytes) -> None:
    assert text.count(b"\n") == 1 + 4 + 8 * 1 + 6 + 8
    again = LeelaZeroWeights.parse(text)
    assert equal(again, weights)
    assert (again.blocks, again.channels) == (1, 4)
    assert again.encode() == text


@pytest.mark.parametrize("form", ["gzip", "no last line end", "carriage returns", "without blocks"])
def test_other_forms(form: str, weights: LeelaZeroWeights, text: bytes) -> None:
    if form == "without blocks":
        assert LeelaZeroWeights.parse(LeelaZeroNet.seeded(0, 3, 1).weights().encode()).blocks == 0
        return
    forms = {
        "gzip": gzip.compress(text),
        "no last line end": text.rstrip(),
        "carriage returns": text.replace(b"\n", b"\r\n"),
    }
    assert equal(LeelaZeroWeights.parse(forms[form]), weights)


def test_numbers_of_every_size() -> None:
    """The fewest digits that are written give each float back."""
    net = LeelaZeroNet.seeded(0, 2, 4)
    draw = np.random.default_rng(3)
    numbers = draw.standard_normal(256) * 10.0 ** draw.integers(-40, 38, 256)
    weights = net.weights()
    weights.value.weights[0] = numbers.astype(np.float32)
    assert equal(LeelaZeroWeights.parse(weights.encode()), weights)


@pytest.mark.parametrize(
    ("number", "line", "sentence"),
    [
        (1, b"2", "has version 2"),
        (1, b"3", "holds no Leela Zero weights"),
        (1, b"", "holds no Leela Zero weights"),
        (
            3,
            b"0 0 0",
            "the weights of the input convolution, has 648 numbers; with 1 blocks of 3 channels on 19x19 it has 486",
        ),
        (
            4,
            b"0 0 0",
            "Line 4 of the weights file, the means of the input convolution, has 3 numbers; with 1 blocks of 4 ",
        ),
        (
            4,
            b"0 0 0 nan",
            "Line 4 of the weights file, the means of the input convolution, has something other than decimal",
        ),
        (4, b"0 0 0 1_0", "something other than decimal numbers, all of them finite"),
        (4, b"0 0 0 1-0", "something other than decimal numbers, all of them finite"),
        (4, b"0 0 0 1e39", "the means of the input convolution, has a number that is too large to be finite"),
        (4, b"0 0 0 1e400", "the means of the input convolution, has a number that is too large to be finite"),
        (4, b"0 0 0 0.%033d" % 1, "a number of more than 32 characters"),
        (4, b"\xff\x00", "something other than decimal numbers"),
        (5, b"0 0 0 -1", "Line 5 of the weights file, the variances of the input convolution, has a negative number"),
        (6, b"", "Line 6 of the weights file, the weights of the policy head's convolution, is empty"),
        (10, b"0 0", "Line 10 of the weights file, the weights of convolution 2 of block 1, has 2 numbers"),
        (
            10,
            b"inf " * 144,
            "Line 10 of the weights file, the weights of convolution 2 of block 1, has something other",
        ),
        (17, b"0 -1", "Line 17 of the weights file, the variances of the policy head's convolution, has a negative"),
        (23, b"x", "Line 23 of the weights file, the variances of the value head's convolution, has something"),
        (27, b"1 2", "Line 27 of the weights file, the biases of the value head's last layer, has 2 numbers"),
        (3, b"0 " * 600, "600 channels"),
    ],
)
def test_what_is_wrong_is_said(number: int, line: bytes, sentence: str, text: bytes) -> None:
    assert sentence in refusal(with_line(text, number, line))


def test_lines_too_many_or_too_few(text: bytes) -> None:
    lines = text.split(b"\n")
    names = [
        refusal(b"\n".join(lines[:count])).partition(f" ends before line {count + 1}, ")[2] for count in range(1, 27)
    ]
    assert names[0] == "the weights of the input convolution."
    assert names[7:10] == [
        "the variances of convolution 1 of block 1.",
        "the weights of convolution 2 of block 1.",
        "the biases of convolution 2 of block 1.",
    ]
    assert names[12] == "the weights of the policy head's convolution."
    assert names[25] == "the biases of the value head's last layer."
    assert names[4] == names[12], "after the input convolution nothing tells of blocks"
    assert len(set(names)) == 25
    assert "Line 28 of the weights file, which is after the value head, is too much" in refusal(text + b"1\n")
    assert "goes on after 80 blocks" in refusal(b"1\n" + b"0\n" * 2000)
    assert "no Leela Zero weights" in refusal(b"")


def test_a_board_of_another_size(text: bytes) -> None:
    assert "on 19x19 it has 261364" in refusal(with_line(text, 18, b"0 " * (2 * 81 * 82)))


def test_a_damaged_archive(text: bytes) -> None:
    packed = gzip.compress(text)
    for data in (packed[:-9], packed[:5], packed[:50] + os.urandom(60) + packed[110:], packed[:-5] + b"12345"):
        assert "ends early, or cannot be unpacked" in refusal(data)


def test_sizes() -> None:
    assert len(line_sizes(3, 8)) == 4 + 24 + 14
    for blocks, channels in ((MAX_BLOCKS + 1, 8), (1, MAX_CHANNELS + 1), (1, 0), (-1, 8)):
        with pytest.raises(BadWeights, match="the most that is read"):
            LeelaZeroNet(blocks, channels)


def test_numbers_that_no_file_holds() -> None:
    net = LeelaZeroNet.seeded(0, 2, 4)
    net.value.bias.data.fill_(float("inf"))
    with pytest.raises(BadWeights, match="not finite"):
        net.weights()
