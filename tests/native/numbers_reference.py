"""docs/spec/search.md, "Numbers", in plain Python: exp and log, fixed point, and the streams of random numbers.

Python's floats are IEEE binary64 and each operation is rounded on its own, as the page asks. Whole numbers are Python's.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum

from tests.native.network_reference import philox

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
LOG_EVEN = [float.fromhex(x) for x in ("0x1.999999997fa04p-2", "0x1.c71c51d8e78afp-3", "0x1.39a09d078c69fp-3")]
LOG_ODD = [
    float.fromhex(x)
    for x in ("0x1.5555555555593p-1", "0x1.2492494229359p-2", "0x1.7466496cb03dep-3", "0x1.2f112df3e5244p-3")
]
SOFTMAX = (8589934592, -5954088911, 2063529293, -476771116, 82597083, -11405663, 1264973, -92955)


class Purpose(IntEnum):
    KIND = 1
    NOISE = 2
    MOVE = 3
    GUMBEL = 4


def exact_exp(x: float) -> float:
    if x <= -708:
        return 0.0
    k = away_from_zero(x * float.fromhex("0x1.71547652b82fep0"))
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    t = (high - r) - low
    p = 0.0
    for i in range(13, 1, -1):
        p = p * r + 1 / math.factorial(i)
    return math.ldexp(1 + (r + (r * r * p + t)), k)


def exact_log(x: float) -> float:
    """Of a positive number: fdlibm's polynomial in s = f / (2 + f), where x = 2^k (1 + f) lies around a power of 2."""
    half, k = math.frexp(x)
    f, k = 2 * half - 1, k - 1
    if struct.pack(">d", 1 + f) >= bytes.fromhex("3ff6a09e667f3bcd"):
        f, k = half - 1, k + 1
    s = f / (2 + f)
    z = s * s
    w = z * z
    even = w * (LOG_EVEN[0] + w * (LOG_EVEN[1] + w * LOG_EVEN[2]))
    odd = z * (LOG_ODD[0] + w * (LOG_ODD[1] + w * (LOG_ODD[2] + w * LOG_ODD[3])))
    r, square = odd + even, 0.5 * f * f
    return k * LN2_HIGH - ((square - (s * (square + r) + k * LN2_LOW)) - f)


def away_from_zero(x: float) -> int:
    """To the nearest integer, halves away from zero."""
    return math.floor(x + 0.5) if x >= 0 else math.ceil(x - 0.5)


def fix(x: float, bits: int) -> int:
    return away_from_zero(math.ldexp(x, bits))


def mean(total: int, count: int) -> int:
    return (2 * total + count) // (2 * count)


def exp_down(d: int) -> int:
    """2^31 exp(-d / 4096) of docs/spec/network.md."""
    t = d * 387270501
    n, g = t >> 40, (t >> 11) & ((1 << 29) - 1)
    if n > 31:
        return 0
    a = SOFTMAX[7]
    for c in SOFTMAX[6::-1]:
        a = c + ((a * g) >> 29)
    e = (a + 2) >> 2
    return (e + (1 << (n - 1))) >> n if n else e


def softmax(logits: Sequence[int]) -> list[float]:
    parts = [exp_down(max(logits) - logit) for logit in logits]
    return [part / sum(parts) for part in parts]


def tanh(logit: int) -> float:
    high, low = exp_down(0), exp_down(2 * abs(logit))
    return math.copysign((high - low) / (high + low), logit)


# ---- random numbers ----------------------------------------------------------------------------------------


def words(seed: bytes, ply: int, purpose: Purpose, slot: int = 0) -> Iterator[list[int]]:
    """The blocks of a stream."""
    key = struct.unpack("<2I", seed[:8])
    draw = 0
    while True:
        yield philox((draw, slot, ply, purpose), key)
        draw += 1


def pairs(seed: bytes, ply: int, purpose: Purpose, slot: int = 0) -> Iterator[tuple[float, float]]:
    """The blocks of a stream as two numbers in (0, 1)."""
    for a, b, c, d in words(seed, ply, purpose, slot):
        yield (((a + (b << 32)) >> 12) + 0.5) * 2.0**-52, (((c + (d << 32)) >> 12) + 0.5) * 2.0**-52


def normal(stream: Iterator[tuple[float, float]]) -> float:
    for u, v in stream:
        x, y = 2 * u - 1, 2 * v - 1
        s = x * x + y * y
        if 0 < s < 1:
            return x * math.sqrt(-2 * exact_log(s) / s)
    raise AssertionError("a stream has no end")


def log_gamma(stream: Iterator[tuple[float, float]], alpha: float) -> float:
    shape = alpha + 1 if alpha < 1 else alpha
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal(stream)
        root = 1 + c * x
        if root <= 0:
            continue
        v = root * root * root
        u, other = next(stream)
        log_v = exact_log(v)
        if exact_log(u) < 0.5 * x * x + d - d * v + d * log_v:
            result = exact_log(d) + log_v
            return result + exact_log(other) / alpha if alpha < 1 else result


def dirichlet(seed: bytes, ply: int, alpha: float, moves: Sequence[int]) -> list[float]:
    logs = [log_gamma(pairs(seed, ply, Purpose.NOISE, move), alpha) for move in moves]
    parts = [exact_exp(each - max(logs)) for each in logs]
    return [part / sum_in_order(parts) for part in parts]


def gumbel(seed: bytes, ply: int, move: int) -> float:
    return -exact_log(-exact_log(next(pairs(seed, ply, Purpose.GUMBEL, move))[0]))


def sum_in_order(numbers: Sequence[float]) -> float:
    """One addition after another: `sum` compensates for rounding since Python 3.12."""
    total = 0.0
    for number in numbers:
        total += number
    return total
