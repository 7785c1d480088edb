"""Leela Zero's weights files, version 1: lines of decimal numbers, plain or compressed by gzip.

The first line is the version. Then come 4 lines a convolution (weights [out][in][row][column], biases, and the mean and
variance of the norm behind it): one at the input, 2 b in the b blocks of the tower; then 6 lines of the policy head and 8 of
the value head. So a file has 1 + 4 + 8 b + 6 + 8 lines. A norm has no gamma, and its beta is in the convolution's biases,
as beta sqrt(variance + epsilon). Whatever a file holds, reading it gives a record or a BadWeights of one sentence, which
names the layer, and takes no more memory than a network of the largest size. Left out: version 2, whose value is black's.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Self, cast

import numpy as np
import numpy.typing as npt

from trainer.errors import BadWeights
from trainer.network.leela_zero_lines import line_name, tower_convolutions

SIDE: Final = 19
POINTS: Final = SIDE * SIDE
PLANES: Final = 18
POLICY_MAPS: Final = 2
VALUE_MAPS: Final = 1
VALUE_HIDDEN: Final = 256
EPSILON: Final = 1e-5
MAX_BLOCKS: Final = 80
MAX_CHANNELS: Final = 512

_MAX_NUMBER: Final = 32
_GZIP: Final = b"\x1f\x8b"
_LETTERS: Final = b"0123456789eE+-. \t\r\n"
_HEAD_LINES: Final = 14

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FoldedConv:
    """A convolution with the norm behind it: weights [out, in, side, side]; bias, mean and variance [out]."""

    weights: Array
    bias: Array
    mean: Array
    variance: Array

    def __post_init__(self) -> None:
        if not (self.variance >= 0).all():
            raise BadWeights("A variance is negative.")

    @property
    def lines(self) -> tuple[Array, ...]:
        """In the order of the file."""
        return self.weights, self.bias, self.mean, self.variance


@dataclass(frozen=True, slots=True)
class Connected:
    """A fully connected layer: weights [out, in], bias [out]."""

    weights: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class LeelaZeroWeights:
    """All numbers of a file. `tower` has two convolutions a block."""

    input: FoldedConv
    tower: tuple[FoldedConv, ...]
    policy_conv: FoldedConv
    policy: Connected
    value_conv: FoldedConv
    value_hidden: Connected
    value: Connected

    def __post_init__(self) -> None:
        expected = line_sizes(self.blocks, self.channels)
        for index, (line, size) in enumerate(zip(self.lines, expected, strict=True)):
            if line.size != size:
                raise BadWeights(f"{_where(expected[: index + 1])} has {line.size} numbers, not {size}.")
            if not np.isfinite(line).all():
                raise BadWeights(f"{_where(expected[: index + 1])} has a number that is not finite.")

    @property
    def blocks(self) -> int:
        """Residual blocks of the tower."""
        return len(self.tower) // 2

    @property
    def channels(self) -> int:
        """Channels of the tower."""
        return int(self.input.bias.size)

    @property
    def lines(self) -> tuple[Array, ...]:
        """The file's lines after the version."""
        convs = [line for conv in (self.input, *self.tower) for line in conv.lines]
        hidden, last = self.value_hidden, self.value
        policy = (*self.policy_conv.lines, self.policy.weights, self.policy.bias)
        value = (*self.value_conv.lines, hidden.weights, hidden.bias, last.weights, last.bias)
        return (*convs, *policy, *value)

    def encode(self) -> bytes:
        """The file, uncompressed. Each number has the fewest digits that give it back."""
        lines = (" ".join(line.ravel().astype("U16").tolist()) for line in self.lines)
        return ("\n".join(("1", *lines)) + "\n").encode("ascii")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads a file, compressed or not; raises OSError, or a BadWeights that names it."""
        with path.open("rb") as file:
            try:
                return cls.read(file)
            except BadWeights as error:
                raise BadWeights(f"{path}: {error}") from None

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Reads a whole file, compressed or not; raises BadWeights."""
        return cls.read(io.BytesIO(data))

    @classmethod
    def read(cls, file: BinaryIO) -> Self:
        """Reads an open file that can be rewound, compressed or not; raises BadWeights or OSError."""
        start = file.read(2)
        file.seek(0)
        try:
            if start != _GZIP:
                return cls._of(_numbers(file))
            with gzip.GzipFile(fileobj=file) as unpacked:
                return cls._of(_numbers(cast(BinaryIO, unpacked)))
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise BadWeights("The weights file is damaged: it ends early, or cannot be unpacked.") from None

    @classmethod
    def _of(cls, numbered: Iterable[Array]) -> Self:
        lines = list(numbered)
        sizes = [line.size for line in lines]
        if len(sizes) < 2:
            raise BadWeights(f"The weights file ends before line {len(sizes) + 2}, {line_name([*sizes, 0])}.")
        channels, blocks = sizes[1], _blocks_of(sizes)
        expected = line_sizes(blocks, channels)
        for index, (size, wanted) in enumerate(zip(sizes, expected, strict=False)):
            if size != wanted:
                raise BadWeights(
                    f"{_where(sizes[: index + 1])} has {size} numbers; "
                    f"with {blocks} blocks of {channels} channels on {SIDE}x{SIDE} it has {wanted}."
                )
            if line_name(expected[: index + 1]).startswith("the variances") and (lines[index] < 0).any():
                raise BadWeights(f"{_where(sizes[: index + 1])} has a negative number.")
        if len(sizes) < len(expected):
            name = line_name(expected[: len(sizes) + 1])
            raise BadWeights(f"The weights file ends before line {len(sizes) + 2}, {name}.")
        if len(sizes) > len(expected):
            raise BadWeights(f"{_where(sizes[: len(expected) + 1])} is too much.")
        rest = iter(lines)
        return cls(
            input=_conv(rest, channels, PLANES, 3),
            tower=tuple(_conv(rest, channels, channels, 3) for _ in range(2 * blocks)),
            policy_conv=_conv(rest, POLICY_MAPS, channels, 1),
            policy=_connected(rest, POINTS + 1),
            value_conv=_conv(rest, VALUE_MAPS, channels, 1),
            value_hidden=_connected(rest, VALUE_HIDDEN),
            value=_connected(rest, 1),
        )


def line_sizes(blocks: int, channels: int) -> list[int]:
    """How many numbers each line after the version has; raises BadWeights for a network that is too large."""
    if not (1 <= channels <= MAX_CHANNELS and 0 <= blocks <= MAX_BLOCKS):
        raise BadWeights(
            f"The weights are of {blocks} blocks of {channels} channels; "
            f"{MAX_BLOCKS} blocks of {MAX_CHANNELS} are the most that is read."
        )
    tower = [9 * channels * channels, *[channels] * 3] * (2 * blocks)
    policy = [channels * POLICY_MAPS, *[POLICY_MAPS] * 3, POLICY_MAPS * POINTS * (POINTS + 1), POINTS + 1]
    value = [channels * VALUE_MAPS, *[VALUE_MAPS] * 3, VALUE_MAPS * POINTS * VALUE_HIDDEN, VALUE_HIDDEN]
    return [9 * PLANES * channels, *[channels] * 3, *tower, *policy, *value, VALUE_HIDDEN, 1]


def _numbers(file: BinaryIO) -> Iterator[Array]:
    """The lines after the version, each checked to be finite numbers and no longer than any network has."""
    version = file.readline(64).strip()
    if version == b"2":
        raise BadWeights("The weights file has version 2, whose value is black's; only version 1 is read.")
    if version != b"1":
        raise BadWeights("The file does not begin with the line 1, so it holds no Leela Zero weights.")
    channels, sizes = MAX_CHANNELS, list[int]()
    for number in range(2, 2 + 4 + 8 * MAX_BLOCKS + _HEAD_LINES + 1):
        most = (
            9 * PLANES * channels if number == 2 else max(9 * channels * channels, POLICY_MAPS * POINTS * (POINTS + 1))
        )
        text = file.readline(most * _MAX_NUMBER)
        if not text:
            return
        found = _parse_line(text, sizes)
        if number == 3:
            channels = max(1, min(found.size, MAX_CHANNELS))
        yield found
    raise BadWeights(f"The weights file goes on after {MAX_BLOCKS} blocks, the most that is read.")


def _parse_line(text: bytes, sizes: list[int]) -> Array:
    """The numbers of the line after those with these sizes, to which its own is added."""
    words = text.split()
    sizes.append(len(words))
    if text.translate(None, _LETTERS):
        raise BadWeights(f"{_where(sizes)} has something other than decimal numbers, all of them finite.")
    if not words:
        raise BadWeights(f"{_where(sizes)} is empty.")
    if max(map(len, words)) > _MAX_NUMBER:
        raise BadWeights(f"{_where(sizes)} has a number of more than {_MAX_NUMBER} characters.")
    try:
        with np.errstate(over="ignore"):
            found = np.array(words).astype(np.float64).astype(np.float32)
    except ValueError:
        raise BadWeights(f"{_where(sizes)} has something other than decimal numbers, all of them finite.") from None
    if not np.isfinite(found).all():
        raise BadWeights(f"{_where(sizes)} has a number that is too large to be finite.")
    return found


def _where(sizes: Sequence[int]) -> str:
    """The last of the lines after the version, by its number and as a layer."""
    return f"Line {len(sizes) + 1} of the weights file, {line_name(sizes)},"


def _blocks_of(sizes: Sequence[int]) -> int:
    """By the lines' sizes; where the first two contradict each other, by how many lines there are."""
    if sizes[0] == 9 * PLANES * sizes[1]:
        return (tower_convolutions(sizes) + 1) // 2
    return max(0, len(sizes) - 4 - _HEAD_LINES) // 8


def _conv(lines: Iterator[Array], outputs: int, inputs: int, side: int) -> FoldedConv:
    return FoldedConv(next(lines).reshape(outputs, inputs, side, side), next(lines), next(lines), next(lines))


def _connected(lines: Iterator[Array], outputs: int) -> Connected:
    return Connected(next(lines).reshape(outputs, -1), next(lines))
