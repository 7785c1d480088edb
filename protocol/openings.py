"""Openings that follow from a board size alone: all pairs of first moves, one for each class under the eight symmetries.

Deterministic networks repeat games, so gating needs many openings; `docs/spec/manifest.md` says how they are drawn.
"""

import hashlib
from collections.abc import Iterator
from functools import cache

from protocol.manifest import Opening

MOST = 256


@cache
def two_move_openings(size: int) -> tuple[Opening, ...]:
    """Black and white first moves on distinct points, edges left out, up to symmetry; for gate games only.

    Where there are more than `MOST`, those with the lowest SHA-256, so that a manifest stays small on any board.
    """
    seen: set[tuple[int, int]] = set()
    openings: list[Opening] = []
    inner = [row * size + col for row in range(1, size - 1) for col in range(1, size - 1)]
    for black in inner:
        for white in inner:
            if white != black and (black, white) not in seen:
                seen.update(_images(black, white, size))
                openings.append(Opening(size, (black, white), 0, 1))
    if len(openings) > MOST:
        openings.sort(key=_rank)
        del openings[MOST:]
    return tuple(openings)


def _rank(opening: Opening) -> bytes:
    text = f"gonode/openings/v1 {opening.size} {opening.moves[0]} {opening.moves[1]}"
    return hashlib.sha256(text.encode()).digest()


def _images(black: int, white: int, size: int) -> Iterator[tuple[int, int]]:
    for symmetry in range(8):
        yield image(black, size, symmetry), image(white, size, symmetry)


def image(point: int, size: int, symmetry: int) -> int:
    """Where a point of the board goes under symmetry 0 to 7: rows turned over, columns turned over, then swapped."""
    row, col = divmod(point, size)
    if symmetry & 1:
        row = size - 1 - row
    if symmetry & 2:
        col = size - 1 - col
    if symmetry & 4:
        row, col = col, row
    return row * size + col
