"""Changes of bytes that know nothing of their format."""

import random

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
