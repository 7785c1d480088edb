"""Which chunks of a blob somebody has, as bytes.

Spec: docs/spec/wire.md ("Blobs"). Bit `1 << i % 8` of byte `i // 8` is chunk `i`; those behind the last are 0.
"""

from collections.abc import Iterable

from protocol.errors import ParseError


def encode_bitmap(held: Iterable[int], count: int) -> bytes:
    """The bitmap of the chunks `held` of a blob that has `count`; IndexError for another chunk."""
    bits = bytearray(-(-count // 8))
    for index in held:
        if not 0 <= index < count:
            raise IndexError(f"the blob has {count} chunks, not one numbered {index}")
        bits[index // 8] |= 1 << index % 8
    return bytes(bits)


def parse_bitmap(data: bytes, count: int) -> frozenset[int]:
    """The chunks in a bitmap of a blob that has `count`; raises ParseError."""
    if len(data) != -(-count // 8):
        raise ParseError(f"A bitmap of {count} chunks does not have {len(data)} bytes.")
    held = frozenset(at * 8 + bit for at, byte in enumerate(data) if byte for bit in range(8) if byte >> bit & 1)
    if any(index >= count for index in held):
        raise ParseError(f"A bitmap of {count} chunks has a bit behind them.")
    return held
