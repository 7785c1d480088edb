"""docs/spec/network.md in plain Python: evaluation of a `NetworkFile` and the first network, to judge the engine by."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Sequence

from native.netfile import (
    CONV_WEIGHT_MAX,
    FC_WEIGHT_MAX,
    PLANES,
    STREAM_MULTIPLIER,
    U8_MULTIPLIER,
    Architecture,
    BlockLayers,
    ConvLayer,
    HiddenLayer,
    LogitLayer,
    NetworkFile,
    NormLayer,
    PoolLayer,
)
from native.network import Output

Board = list[list[int]]  # [point][channel]


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def rsh(v: int, s: int) -> int:
    return (v + (1 << (s - 1))) >> s if s else v


def sat16(v: int) -> int:
    return min(max(v, -32768), 32767)


def clamp7(v: int) -> int:
    return min(max(v, 0), 127)


def mulhrs(a: int, m: int) -> int:
    return (a * m + (1 << 14)) >> 15


def convolve(layer: ConvLayer, board: Board, rows: int, cols: int, xb: Sequence[int] | None = None) -> Board:
    """The values r of every point, before clamp7."""
    w = [signed(b) for b in layer.weights]
    reach = [(0, 0)] if layer.taps == 1 else [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    result = []
    for y in range(rows):
        for x in range(cols):
            seen = [
                (t, board[(y + dy) * cols + x + dx])
                for t, (dy, dx) in enumerate(reach)
                if 0 <= y + dy < rows and 0 <= x + dx < cols
            ]
            values = []
            for o in range(layer.outputs):
                acc = 0
                for t, point in seen:
                    base = (o * layer.taps + t) * layer.inputs
                    acc += sum(a * b for a, b in zip(point, w[base : base + layer.inputs], strict=True))
                s = layer.shift[o]
                v = sat16((acc + layer.bias[o] + (1 << s - 1 if s else 0) + (xb[o] if xb else 0)) >> s)
                values.append(mulhrs(v, layer.multiplier[o]))
            result.append(values)
    return result


def u8(board: Board) -> Board:
    return [[clamp7(v) for v in point] for point in board]


def act(stream: Board, norm: NormLayer) -> Board:
    return [
        [clamp7(mulhrs(sat16(x + b), m)) for x, b, m in zip(point, norm.bias, norm.multiplier, strict=True)]
        for point in stream
    ]


def pooled(board: Board, *, total: bool = False) -> list[int]:
    n = len(board)
    reciprocal = ((1 << 22) + n // 2) // n
    channels = list(zip(*board, strict=True))
    features = [(sum(c) * reciprocal + (1 << 15)) >> 16 for c in channels] + [64 * max(c) for c in channels]
    return features + [(sum(c) * 11618 + (1 << 15)) >> 16 for c in channels] if total else features


def connect(features: Sequence[int], weights: bytes, bias: Sequence[int]) -> list[int]:
    n = len(features)
    return [
        sum(g * signed(b) for g, b in zip(features, weights[o * n : (o + 1) * n], strict=True)) + bias[o]
        for o in range(len(bias))
    ]


def pooled_bias(features: Sequence[int], layer: PoolLayer) -> list[int]:
    return [rsh(acc, s) for acc, s in zip(connect(features, layer.weights, layer.bias), layer.shift, strict=True)]


def logit(x: Sequence[int], layer: LogitLayer, limit: int = 1 << 17) -> int:
    acc = connect(x, layer.weights, (layer.bias,))[0]
    return min(max((acc * layer.multiplier + (1 << (layer.shift - 1))) >> layer.shift, -limit), limit - 1)


def evaluate(net: NetworkFile, rows: int, cols: int, planes: bytes) -> Output:
    """One position, by the spec's formulas."""
    n = rows * cols
    board = [[planes[i * n + p] for i in range(PLANES)] for p in range(n)]
    stream = convolve(net.stem, board, rows, cols)
    for block in net.blocks:
        a = act(stream, block.norm)
        xb = None if block.pool is None else pooled_bias(pooled(a), block.pool)
        more = convolve(block.conv2, u8(convolve(block.conv1, a, rows, cols, xb)), rows, cols)
        stream = [[sat16(x + r) for x, r in zip(p, q, strict=True)] for p, q in zip(stream, more, strict=True)]
    z = act(stream, net.tip)
    g = u8(convolve(net.pool_conv, z, rows, cols))
    p = u8(convolve(net.policy_conv, z, rows, cols, pooled_bias(pooled(g), net.policy_pool)))
    v = u8(convolve(net.value_conv, z, rows, cols))
    layer = net.value_hidden
    acc = connect(pooled(v, total=True), layer.weights, layer.bias)
    h = [clamp7(mulhrs(sat16(rsh(a, s)), m)) for a, s, m in zip(acc, layer.shift, layer.multiplier, strict=True)]
    return Output(
        policy=(*(logit(point, net.policy_point) for point in p), logit(pooled(p), net.policy_pass)),
        value=logit(h, net.value),
        score_mean=logit(h, net.score_mean, 1 << 21),
        score_spread=logit(h, net.score_spread, 1 << 21),
        ownership=tuple(logit(point, net.ownership) for point in v),
    )


# ---- networks ------------------------------------------------------------------------------------------------


def build(
    shape: Architecture,
    conv: Callable[[int, int, int, bool], ConvLayer],
    norm: Callable[[int], NormLayer],
    pool: Callable[[int, int], PoolLayer],
    hidden: Callable[[int, int], HiddenLayer],
    logit_layer: Callable[[int, bool, str], LogitLayer],
) -> NetworkFile:
    """A network whose layers are made in file order."""
    c, k, h = shape.channels, shape.head, shape.hidden
    return NetworkFile(
        architecture=shape,
        stem=conv(PLANES, c, 9, True),
        blocks=tuple(
            BlockLayers(
                norm=norm(c),
                conv1=conv(c, c, 9, False),
                pool=pool(2 * c, c) if i % 2 else None,
                conv2=conv(c, c, 9, True),
            )
            for i in range(shape.blocks)
        ),
        tip=norm(c),
        pool_conv=conv(c, k, 1, False),
        policy_conv=conv(c, k, 1, False),
        policy_pool=pool(2 * k, k),
        policy_point=logit_layer(k, False, "policy_point"),
        policy_pass=logit_layer(2 * k, True, "policy_pass"),
        value_conv=conv(c, k, 1, False),
        value_hidden=hidden(3 * k, h),
        value=logit_layer(h, False, "value"),
        score_mean=logit_layer(h, False, "score_mean"),
        score_spread=logit_layer(h, False, "score_spread"),
        ownership=logit_layer(k, False, "ownership"),
    )


def random_network(shape: Architecture, seed: int, *, extreme: bool = False) -> NetworkFile:
    """Numbers that keep activations alive, one in twenty from the whole range. `extreme`: convolution weights at their
    limits, nearly all of one sign in a layer, so that sums and products are as large as they can be."""
    r = random.Random(seed)

    def weights(count: int, limit: int) -> bytes:
        if extreme and limit == CONV_WEIGHT_MAX:
            sign = r.choice((-1, 1, 1))
            return bytes(sign * limit & 255 if r.random() < 0.97 else -sign * limit & 255 for _ in range(count))
        return bytes(r.randint(-limit, limit) & 255 for _ in range(count))

    def numbers(count: int, whole: tuple[int, int], usual: tuple[int, int]) -> tuple[int, ...]:
        return tuple(r.randint(*(whole if r.random() < 0.05 else usual)) for _ in range(count))

    def conv(inputs: int, outputs: int, taps: int, stream: bool) -> ConvLayer:
        w = weights(inputs * outputs * taps, CONV_WEIGHT_MAX)
        room = (1 << 24) - 1 - 127 * CONV_WEIGHT_MAX * inputs * taps
        top = max(s for s in range(25) if 1 << s < room)
        shift = numbers(outputs, (0, top), (6, 11) if extreme else (0, 6))
        bias = tuple(r.randint(-x, x) for x in (min(room - (1 << s), 1 << (s + 13)) for s in shift))
        low, high = STREAM_MULTIPLIER if stream else U8_MULTIPLIER
        return ConvLayer(inputs, outputs, taps, stream, w, bias, shift, numbers(outputs, (low, high), (low, high)))

    def norm(channels: int) -> NormLayer:
        return NormLayer(
            channels, numbers(channels, (-32768, 32767), (-4000, 4000)), numbers(channels, (1, 32767), (100, 500))
        )

    def pool(inputs: int, outputs: int) -> PoolLayer:
        bias = numbers(outputs, (-(1 << 28), 1 << 28), (-(1 << 21), 1 << 21))
        w = weights(inputs * outputs, FC_WEIGHT_MAX)
        return PoolLayer(inputs, outputs, w, bias, numbers(outputs, (0, 24), (5, 9)))

    def hidden(inputs: int, outputs: int) -> HiddenLayer:
        w = weights(inputs * outputs, FC_WEIGHT_MAX)
        bias = numbers(outputs, (-(1 << 28), 1 << 28), (-(1 << 20), 1 << 20))
        shift = numbers(outputs, (0, 30), (5, 10))
        return HiddenLayer(inputs, outputs, w, bias, shift, numbers(outputs, U8_MULTIPLIER, U8_MULTIPLIER))

    def logit_layer(inputs: int, is_pooled: bool, _name: str) -> LogitLayer:
        (bias,) = numbers(1, (-(1 << 29), 1 << 29), (-(1 << 12), 1 << 12))
        (shift,) = numbers(1, (1, 46), (22, 27) if is_pooled else (15, 20))
        return LogitLayer(inputs, is_pooled, weights(inputs, FC_WEIGHT_MAX), bias, r.randint(1, 32767), shift)

    return build(shape, conv, norm, pool, hidden, logit_layer)


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def first_network(digest: bytes, shape: Architecture) -> NetworkFile:
    """ "First network" of the spec."""
    seed = hashlib.sha256(b"gonode/init/v1\0" + digest).digest()
    key = [int.from_bytes(seed[0:4], "little"), int.from_bytes(seed[4:8], "little")]
    layers = iter(range(1 << 20))
    norms = iter(range(1 << 20))

    def weights(count: int) -> bytes:
        layer = next(layers)
        drawn = bytearray()
        for block in range((count + 15) // 16):
            drawn += b"".join(word.to_bytes(4, "little") for word in philox([block, layer, 0, 0], key))
        return bytes((((2 * byte + 1) * 129 >> 9) - 64) & 255 for byte in drawn[:count])

    def scaled(factor: int, low: int, fan_in: int, shift: int = 0) -> tuple[int, int]:
        q = math.isqrt(65536 * fan_in)
        while (factor << shift) // q < low:
            shift += 1
        return (factor << shift) // q, shift

    def conv(inputs: int, outputs: int, taps: int, stream: bool) -> ConvLayer:
        fan_in = inputs * taps
        factor, low = (39850720 if inputs == PLANES else 19925360, 16384) if stream else (318809, 256)
        m, s = scaled(factor, low, fan_in)
        w = weights(fan_in * outputs)
        return ConvLayer(inputs, outputs, taps, stream, w, (0,) * outputs, (s,) * outputs, (m,) * outputs)

    def norm(channels: int) -> NormLayer:
        return NormLayer(channels, (0,) * channels, (math.isqrt((1 << 18) // (4 + next(norms))),) * channels)

    def pool(inputs: int, outputs: int) -> PoolLayer:
        return PoolLayer(inputs, outputs, weights(inputs * outputs), (0,) * outputs, (8,) * outputs)

    def hidden(inputs: int, outputs: int) -> HiddenLayer:
        m, s = scaled(2004, 256, inputs)
        return HiddenLayer(inputs, outputs, weights(inputs * outputs), (0,) * outputs, (s,) * outputs, (m,) * outputs)

    def logit_layer(inputs: int, is_pooled: bool, name: str) -> LogitLayer:
        small = {"policy_point": 62, "policy_pass": 1, "value": 62, "score_mean": 125, "score_spread": 125}
        factor = small.get(name, 623)
        m, s = scaled(factor, 16384, inputs, 1)
        return LogitLayer(inputs, is_pooled, weights(inputs), 0, m, s)

    return build(shape, conv, norm, pool, hidden, logit_layer)
