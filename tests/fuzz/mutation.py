"""Changes of bytes that know nothing of their format, and of canonical bytes by what they hold."""

import random

from protocol import codec
from protocol.errors import ProtocolError

MAX_BYTES = 200_000
"""The longest input that is made."""


def mutate(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """`data` after one to four changes; `other` is spliced in by one of them."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        end = min(len(found), at + rng.randint(1, 8))
        match rng.randrange(8):
            case 0 if found:
                found[at % len(found)] ^= 1 << rng.randrange(8)
            case 1:
                found[at:end] = rng.randbytes(end - at)
            case 2:
                del found[at:end]
            case 3:
                found[at:at] = rng.randbytes(rng.randint(1, 8))
            case 4:
                found[at:end] = bytes([rng.choice((0, 0x7F, 0x80, 0xFF))]) * (end - at)
            case 5:
                del found[at:]
            case 6:
                found[at:at] = found[at:end] * rng.choice((1, 2, 50))
            case _:
                start = rng.randrange(len(other) + 1)
                found[at:] = other[start:]
    return bytes(found[:MAX_BYTES])


def mutate_value(rng: random.Random, value: codec.Value) -> codec.Value:
    """`value` with one thing in it changed, taken away, or put in twice."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        changed = {**value, key: mutate_value(rng, value[key])}
        match rng.randrange(12):
            case 0:
                del changed[key]
            case 1:
                changed[key + "x"] = changed[key]
        return changed
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        pieces: list[list[codec.Value]] = [[value[at]] * 2, [], [mutate_value(rng, value[at])]]
        return [*value[:at], *rng.choice(pieces), *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.7:
        return max(-(2**63), min(2**64 - 1, value + rng.choice((-1, 1, -(2**16), 2**32, -(2**63), 2**64))))
    if isinstance(value, bytes) and value and rng.random() < 0.7:
        return mutate(rng, value, value)
    return rng.choice((None, True, 0, -1, 2**64 - 1, "", "text", b"", bytes(31), bytes(32), bytes(33), [], {}, [{}]))


def mutate_record(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """The canonical `data` with its value changed, canonical again.

    Its bytes are changed by `mutate` where it is not canonical, and where the changed value is nested too deep to be.
    """
    try:
        return codec.encode(mutate_value(rng, codec.decode(data, len(data))))
    except ProtocolError:
        return mutate(rng, data, other)
