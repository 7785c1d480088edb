"""The network file as frozen records: `NetworkFile.encode` and `NetworkFile.parse`.

Spec: docs/spec/network.md. Every record checks all ranges and bounds of the spec when it is made, so a
`NetworkFile` is always one that the engine accepts, and one network has exactly one encoding. Works on `bytes`,
`array` and `memoryview` alone. Evaluation is not here: see `native.network`.
"""

from __future__ import annotations

import hashlib
import re
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

from native.errors import NetworkError
from native.netlayers import FEATURE_PLANES, body_bytes, layer_at

MAGIC: Final = b"GONODENN"
VERSION: Final = 1
FEATURES_VERSION: Final = 1
PLANES: Final = FEATURE_PLANES
MAX_BLOCKS: Final = 64
MAX_CHANNELS: Final = 224

CONV_WEIGHT_MAX: Final = 64
FC_WEIGHT_MAX: Final = 127
ACTIVATION_MAX: Final = 127
POOLED_MAX: Final = 64 * ACTIVATION_MAX
U8_MULTIPLIER: Final = (256, 511)
STREAM_MULTIPLIER: Final = (16384, 32767)
CONV_SHIFT_MAX: Final = 24
HIDDEN_SHIFT_MAX: Final = 30
LOGIT_SHIFT: Final = (1, 46)

_HEADER = struct.Struct("<8sIHHHHI")
_DIGEST_BYTES: Final = 32
_ARCHITECTURE = re.compile(r"b([1-9][0-9]?)c([1-9][0-9]{1,2})")
_ABSOLUTE = bytes(min(i, 256 - i) for i in range(256))  # |s8|, as a bytes.translate table
_WIDTH: Final = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4}


@dataclass(frozen=True, slots=True)
class Architecture:
    """`b{blocks}c{channels}`: the two numbers from which every size of a network follows."""

    blocks: int
    channels: int

    def __post_init__(self) -> None:
        if not 1 <= self.blocks <= MAX_BLOCKS:
            raise NetworkError(f"A network has 1 to {MAX_BLOCKS} blocks, not {self.blocks}.")
        if not 16 <= self.channels <= MAX_CHANNELS or self.channels % 16:
            raise NetworkError(f"Channels are a multiple of 16 from 16 to {MAX_CHANNELS}, not {self.channels}.")

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Reads `b4c32`; raises NetworkError."""
        match = _ARCHITECTURE.fullmatch(text)
        if match is None:
            raise NetworkError("A network's size is written like b4c32 (4 blocks of 32 channels).")
        return cls(int(match[1]), int(match[2]))

    def encode(self) -> str:
        """The text that `parse` reads."""
        return f"b{self.blocks}c{self.channels}"

    @property
    def head(self) -> int:
        """Channels K of each head's features."""
        return 16 * ((self.channels + 47) // 48)

    @property
    def hidden(self) -> int:
        """Width H of the value head's hidden layer."""
        return 2 * self.head

    @staticmethod
    def is_pooled(block: int) -> bool:
        """Whether block `block` (from 0) has a pooled bias."""
        return block % 2 == 1


@dataclass(frozen=True, slots=True)
class ConvLayer:
    """A convolution with requantisation: weights s8 [out][tap][in], and a bias, shift and multiplier an output.

    `stream` tells whether it adds to the residual stream (multipliers 16384..32767) or gives u8 activations
    (256..511).
    """

    inputs: int
    outputs: int
    taps: int
    stream: bool
    weights: bytes
    bias: tuple[int, ...]
    shift: tuple[int, ...]
    multiplier: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_count("convolution weights", self.weights, self.inputs * self.outputs * self.taps)
        _check_numbers("convolution biases", self.bias, self.outputs, -(1 << 24), 1 << 24)
        _check_numbers("convolution shifts", self.shift, self.outputs, 0, CONV_SHIFT_MAX)
        low, high = STREAM_MULTIPLIER if self.stream else U8_MULTIPLIER
        _check_numbers("convolution multipliers", self.multiplier, self.outputs, low, high)
        sums = _absolute_sums("convolution", self.weights, self.outputs, CONV_WEIGHT_MAX)
        for total, bias, shift in zip(sums, self.bias, self.shift, strict=True):
            half = 1 << (shift - 1) if shift else 0
            if ACTIVATION_MAX * total + abs(bias + half) >= 1 << 24:
                raise NetworkError("A convolution's sums can leave 24 bits.")

    def encode(self) -> bytes:
        """The layer's bytes in the file."""
        return b"".join(
            (self.weights, _pack("i", self.bias), _pack("B", self.shift), _pack("H", self.multiplier)),
        )


@dataclass(frozen=True, slots=True)
class NormLayer:
    """Activation of the residual stream: nb int16 and nm in 1..32767, one a channel."""

    channels: int
    bias: tuple[int, ...]
    multiplier: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_numbers("activation biases", self.bias, self.channels, -32768, 32767)
        _check_numbers("activation multipliers", self.multiplier, self.channels, 1, 32767)

    def encode(self) -> bytes:
        """The layer's bytes in the file."""
        return _pack("h", self.bias) + _pack("H", self.multiplier)


@dataclass(frozen=True, slots=True)
class PoolLayer:
    """Pooled bias: a fully connected layer over pooled features that gives a convolution's xb. Weights s8 [out][in]."""

    inputs: int
    outputs: int
    weights: bytes
    bias: tuple[int, ...]
    shift: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_connected("pooled bias", self.inputs, self.weights, self.bias, self.outputs, POOLED_MAX)
        _check_numbers("pooled bias shifts", self.shift, self.outputs, 0, CONV_SHIFT_MAX)

    def encode(self) -> bytes:
        """The layer's bytes in the file."""
        return self.weights + _pack("i", self.bias) + _pack("B", self.shift)


@dataclass(frozen=True, slots=True)
class HiddenLayer:
    """The value head's hidden layer: pooled features to u8. Weights s8 [out][in]."""

    inputs: int
    outputs: int
    weights: bytes
    bias: tuple[int, ...]
    shift: tuple[int, ...]
    multiplier: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_connected("hidden layer", self.inputs, self.weights, self.bias, self.outputs, POOLED_MAX)
        _check_numbers("hidden layer shifts", self.shift, self.outputs, 0, HIDDEN_SHIFT_MAX)
        _check_numbers("hidden layer multipliers", self.multiplier, self.outputs, *U8_MULTIPLIER)

    def encode(self) -> bytes:
        """The layer's bytes in the file."""
        return b"".join(
            (self.weights, _pack("i", self.bias), _pack("B", self.shift), _pack("H", self.multiplier)),
        )


@dataclass(frozen=True, slots=True)
class LogitLayer:
    """One Q12 output: s8 weights, a bias, and the factor multiplier / 2^shift. `pooled`: inputs are pooled features."""

    inputs: int
    pooled: bool
    weights: bytes
    bias: int
    multiplier: int
    shift: int

    def __post_init__(self) -> None:
        top = POOLED_MAX if self.pooled else ACTIVATION_MAX
        _check_connected("logit", self.inputs, self.weights, (self.bias,), 1, top)
        _check_numbers("logit multiplier", (self.multiplier,), 1, 1, 32767)
        _check_numbers("logit shift", (self.shift,), 1, *LOGIT_SHIFT)

    def encode(self) -> bytes:
        """The layer's bytes in the file."""
        return self.weights + struct.pack("<iHB", self.bias, self.multiplier, self.shift)


@dataclass(frozen=True, slots=True)
class BlockLayers:
    """One residual block; `pool` is None where the block has no pooled bias."""

    norm: NormLayer
    conv1: ConvLayer
    pool: PoolLayer | None
    conv2: ConvLayer

    def encode(self) -> bytes:
        """The block's bytes in the file."""
        pool = b"" if self.pool is None else self.pool.encode()
        return self.norm.encode() + self.conv1.encode() + pool + self.conv2.encode()


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """A whole network; field order is file order."""

    architecture: Architecture
    stem: ConvLayer
    blocks: tuple[BlockLayers, ...]
    tip: NormLayer
    pool_conv: ConvLayer
    policy_conv: ConvLayer
    policy_pool: PoolLayer
    policy_point: LogitLayer
    policy_pass: LogitLayer
    value_conv: ConvLayer
    value_hidden: HiddenLayer
    value: LogitLayer
    score_mean: LogitLayer
    score_spread: LogitLayer
    ownership: LogitLayer

    HEADER_BYTES: ClassVar[int] = _HEADER.size
    DIGEST_BYTES: ClassVar[int] = _DIGEST_BYTES

    def __post_init__(self) -> None:
        shape, c, k, h = self.architecture, self.architecture.channels, self.architecture.head, self.architecture.hidden
        if len(self.blocks) != shape.blocks:
            raise NetworkError(f"A network {shape.encode()} has {shape.blocks} blocks, not {len(self.blocks)}.")
        wanted = [(self.stem, (PLANES, c, 9, True)), (self.tip, (c,))]
        for i, block in enumerate(self.blocks):
            if (block.pool is not None) != shape.is_pooled(i):
                raise NetworkError(f"Block {i} has a pooled bias exactly when {i} is odd.")
            wanted += [(block.norm, (c,)), (block.conv1, (c, c, 9, False)), (block.conv2, (c, c, 9, True))]
            if block.pool is not None:
                wanted.append((block.pool, (2 * c, c)))
        wanted += [(conv, (c, k, 1, False)) for conv in (self.pool_conv, self.policy_conv, self.value_conv)]
        wanted += [(self.policy_pool, (2 * k, k)), (self.value_hidden, (3 * k, h))]
        wanted += [(self.policy_point, (k, False)), (self.policy_pass, (2 * k, True)), (self.ownership, (k, False))]
        wanted += [(logit, (h, False)) for logit in (self.value, self.score_mean, self.score_spread)]
        for layer, sizes in wanted:
            if _sizes(layer) != sizes:
                raise NetworkError(
                    f"A {type(layer).__name__} does not fit {shape.encode()}: {_sizes(layer)}, not {sizes}."
                )

    def encode(self) -> bytes:
        """The file: header, layers, SHA-256 of both."""
        head = (
            *(self.tip, self.pool_conv, self.policy_conv, self.policy_pool, self.policy_point, self.policy_pass),
            *(self.value_conv, self.value_hidden, self.value, self.score_mean, self.score_spread, self.ownership),
        )
        tower = self.stem.encode() + b"".join(block.encode() for block in self.blocks)
        body = tower + b"".join(layer.encode() for layer in head)
        shape = self.architecture
        header = _HEADER.pack(MAGIC, VERSION, FEATURES_VERSION, PLANES, shape.blocks, shape.channels, len(body))
        return header + body + hashlib.sha256(header + body).digest()

    @classmethod
    def parse(cls, file: bytes) -> NetworkFile:
        """Reads a file, checking everything the spec lists; raises NetworkError with one sentence."""
        shape = parse_header(file)
        if hashlib.sha256(file[:-_DIGEST_BYTES]).digest() != file[-_DIGEST_BYTES:]:
            raise NetworkError("The network file is damaged: its digest differs.")
        reader = _Reader(memoryview(file)[_HEADER.size : -_DIGEST_BYTES])
        c, k, h = shape.channels, shape.head, shape.hidden
        return cls(
            architecture=shape,
            stem=reader.conv("stem", PLANES, c, 9, stream=True),
            blocks=tuple(
                BlockLayers(
                    norm=reader.norm(f"norm[{i}]", c),
                    conv1=reader.conv(f"conv1[{i}]", c, c, 9, stream=False),
                    pool=reader.pool(f"pool[{i}]", 2 * c, c) if shape.is_pooled(i) else None,
                    conv2=reader.conv(f"conv2[{i}]", c, c, 9, stream=True),
                )
                for i in range(shape.blocks)
            ),
            tip=reader.norm("tip", c),
            pool_conv=reader.conv("pool_conv", c, k, 1, stream=False),
            policy_conv=reader.conv("policy_conv", c, k, 1, stream=False),
            policy_pool=reader.pool("policy_pool", 2 * k, k),
            policy_point=reader.logit("policy_point", k, pooled=False),
            policy_pass=reader.logit("policy_pass", 2 * k, pooled=True),
            value_conv=reader.conv("value_conv", c, k, 1, stream=False),
            value_hidden=reader.hidden("value_hidden", 3 * k, h),
            value=reader.logit("value", h, pooled=False),
            score_mean=reader.logit("score_mean", h, pooled=False),
            score_spread=reader.logit("score_spread", h, pooled=False),
            ownership=reader.logit("ownership", k, pooled=False),
        )


def parse_header(file: bytes) -> Architecture:
    """The architecture of a file, its lengths checked but neither digest nor numbers; raises NetworkError."""
    if len(file) < _HEADER.size + _DIGEST_BYTES:
        raise NetworkError("The network file is shorter than its header.")
    magic, version, features, planes, blocks, channels, body = _HEADER.unpack_from(file)
    if magic != MAGIC:
        raise NetworkError("This is not a network file.")
    if (version, features, planes) != (VERSION, FEATURES_VERSION, PLANES):
        raise NetworkError(
            f"The network file has version {version}, features {features}, which this build does not read."
        )
    shape = Architecture(blocks, channels)
    wanted, whole = body_bytes(shape), file_bytes(shape)
    if body != wanted:
        ends = f": it ends in layer {layer_at(shape, body)}" if body < wanted else ""
        raise NetworkError(f"The network file's body of {body} bytes does not fit {shape.encode()}{ends}.")
    if len(file) < _HEADER.size + wanted:
        name = layer_at(shape, len(file) - _HEADER.size)
        raise NetworkError(f"The network file ends early, in layer {name}: it has {len(file)} bytes, not {whole}.")
    if len(file) != whole:
        raise NetworkError(f"The network file has {len(file)} bytes, not {whole}.")
    return shape


def file_bytes(shape: Architecture) -> int:
    """Length of a network file."""
    return _HEADER.size + body_bytes(shape) + _DIGEST_BYTES


class _Reader:
    """Takes layers off the front of a body whose length is already known to be right."""

    def __init__(self, body: memoryview) -> None:
        self._body = body

    def bytes(self, count: int) -> bytes:
        taken = bytes(self._body[:count])
        self._body = self._body[count:]
        return taken

    def numbers(self, code: str, count: int) -> tuple[int, ...]:
        values = array(code, self.bytes(count * _WIDTH[code]))
        if sys.byteorder == "big":
            values.byteswap()
        return tuple(values)

    def conv(self, name: str, inputs: int, outputs: int, taps: int, *, stream: bool) -> ConvLayer:
        weights = self.bytes(inputs * outputs * taps)
        bias, shift, multiplier = self.numbers("i", outputs), self.numbers("B", outputs), self.numbers("H", outputs)
        with _naming(name):
            return ConvLayer(inputs, outputs, taps, stream, weights, bias, shift, multiplier)

    def norm(self, name: str, channels: int) -> NormLayer:
        bias, multiplier = self.numbers("h", channels), self.numbers("H", channels)
        with _naming(name):
            return NormLayer(channels, bias, multiplier)

    def pool(self, name: str, inputs: int, outputs: int) -> PoolLayer:
        weights = self.bytes(inputs * outputs)
        bias, shift = self.numbers("i", outputs), self.numbers("B", outputs)
        with _naming(name):
            return PoolLayer(inputs, outputs, weights, bias, shift)

    def hidden(self, name: str, inputs: int, outputs: int) -> HiddenLayer:
        weights = self.bytes(inputs * outputs)
        bias, shift, multiplier = self.numbers("i", outputs), self.numbers("B", outputs), self.numbers("H", outputs)
        with _naming(name):
            return HiddenLayer(inputs, outputs, weights, bias, shift, multiplier)

    def logit(self, name: str, inputs: int, *, pooled: bool) -> LogitLayer:
        weights = self.bytes(inputs)
        bias, multiplier, shift = struct.unpack("<iHB", self.bytes(7))
        with _naming(name):
            return LogitLayer(inputs, pooled, weights, bias, multiplier, shift)


@contextmanager
def _naming(layer: str) -> Iterator[None]:
    """Has a refusal say in which layer the wrong number is."""
    try:
        yield
    except NetworkError as error:
        raise NetworkError(f"Layer {layer}: {error}") from None


def _sizes(layer: object) -> tuple[int, ...]:
    match layer:
        case ConvLayer():
            return (layer.inputs, layer.outputs, layer.taps, layer.stream)
        case NormLayer():
            return (layer.channels,)
        case PoolLayer() | HiddenLayer():
            return (layer.inputs, layer.outputs)
        case LogitLayer():
            return (layer.inputs, layer.pooled)
    raise TypeError(type(layer).__name__)


def _pack(code: str, values: tuple[int, ...]) -> bytes:
    packed = array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _check_count(what: str, values: Sequence[int], count: int) -> None:
    if len(values) != count:
        raise NetworkError(f"{count} {what} are needed, not {len(values)}.")


def _check_numbers(what: str, values: Sequence[int], count: int, low: int, high: int) -> None:
    _check_count(what, values, count)
    if count and not low <= min(values) <= max(values) <= high:
        raise NetworkError(f"The {what} are {low} to {high}, not {min(values)} to {max(values)}.")


def _absolute_sums(what: str, weights: bytes, outputs: int, largest: int) -> list[int]:
    """sum |w| of each output, after checking |w| <= largest."""
    absolute = weights.translate(_ABSOLUTE)
    if absolute and max(absolute) > largest:
        raise NetworkError(f"The {what} weights are -{largest} to {largest}, not up to {max(absolute)}.")
    fan_in = len(weights) // outputs
    return [sum(absolute[o * fan_in : (o + 1) * fan_in]) for o in range(outputs)]


def _check_connected(what: str, inputs: int, weights: bytes, bias: tuple[int, ...], outputs: int, top: int) -> None:
    _check_count(f"{what} weights", weights, inputs * outputs)
    _check_count(f"{what} biases", bias, outputs)
    for total, b in zip(_absolute_sums(what, weights, outputs, FC_WEIGHT_MAX), bias, strict=True):
        if top * total + abs(b) >= 1 << 30:
            raise NetworkError(f"A {what}'s sums can leave 30 bits.")
