"""The eight symmetries of a square board: which one an evaluation is turned by, and the turning (docs/spec/search.md)."""

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

SYMMETRIES: Final = range(8)

Value = TypeVar("Value")


def symmetry_of(seed: bytes, planes: bytes) -> int:
    """The symmetry by which a search with this seed evaluates a position with these planes."""
    return hashlib.sha256(seed + planes).digest()[0] & 7


def places(symmetry: int, size: int) -> list[int]:
    """Where each point goes."""
    found = []
    for point in range(size * size):
        row, col = divmod(point, size)
        if symmetry & 4:
            row, col = col, row
        if symmetry & 1:
            row = size - 1 - row
        if symmetry & 2:
            col = size - 1 - col
        found.append(row * size + col)
    return found


def turn_planes(planes: bytes, symmetry: int, size: int) -> bytes:
    """Planes after every point went to its place."""
    points, to = size * size, places(symmetry, size)
    turned = bytearray(len(planes))
    for start in range(0, len(planes), points):
        for point, place in enumerate(to):
            turned[start + place] = planes[start + point]
    return bytes(turned)


def turn_back(values: Sequence[Value], symmetry: int, size: int) -> list[Value]:
    """Values of the points of a turned board, by the points of the board."""
    return [values[place] for place in places(symmetry, size)]
