"""Begun games made from finished ones (docs/spec/pipe.md), by slicing alone."""

from native.pool import Done

HEADER_BYTES = 24


def begun_of(done: Done, plies: int) -> bytes:
    """What a game that was played whole would have left after so many searched plies."""
    block = done.block
    points, opening, moves = block[8] ** 2 + 1, block[11], int.from_bytes(block[20:22], "little")
    header = bytearray(block[:HEADER_BYTES])
    header[9:11], header[16:20], header[20:22] = bytes(2), bytes(4), (opening + plies).to_bytes(2, "little")
    parts, at = [bytes(header), block[HEADER_BYTES : HEADER_BYTES + 2 * (opening + plies)]], HEADER_BYTES + 2 * moves
    for width in (1, 2 * points, 2 * points, 4, 4, 32):
        parts.append(block[at : at + width * plies])
        at += width * (moves - opening)
    assert at == len(block)
    return b"".join([*parts, *done.digests[:plies]]) if plies else b""


def plies_of(begun: bytes) -> int:
    """The searched plies of a begun game."""
    return int.from_bytes(begun[20:22], "little") - begun[11] if begun else 0
