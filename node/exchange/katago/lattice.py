"""Boards as sets of points in one integer each: `Lattice`, what is next to what.

A point of a board of side s is bit row * (s + 1) + column: the bit that is left over behind each row keeps rows apart when a
set is shifted. A set of points is an integer, a stone is a set of one.
"""

from collections.abc import Iterator
from functools import lru_cache


def each(points: int) -> Iterator[int]:
    """The points of a set as sets of one, in the order of the board."""
    while points:
        point = points & -points
        yield point
        points ^= point


class Lattice:
    """A square board of one side."""

    def __init__(self, side: int) -> None:
        self._side, self._width = side, side + 1
        self.all = sum((1 << side) - 1 << row * self._width for row in range(side))

    def point(self, number: int) -> int:
        """The set of the point with this row-major number."""
        return 1 << number + number // self._side

    def numbers(self, points: int) -> Iterator[int]:
        """The row-major numbers of the points of a set."""
        for point in each(points):
            row, column = divmod(point.bit_length() - 1, self._width)
            yield row * self._side + column

    def points(self, stones: bytes, colour: int) -> int:
        """The points where a board, a byte a point, has this value."""
        side, digits = self._side, stones.translate(_digits(colour))[::-1]
        return int(b"0".join(digits[start : start + side] for start in range(0, side * side, side)), 2)

    def near(self, points: int) -> int:
        """The points next to those of a set; some may be of the set itself."""
        width = self._width
        return (points << 1 | points >> 1 | points << width | points >> width) & self.all

    def chain(self, stones: int, point: int) -> int:
        """The stones that are joined to the one at `point`."""
        width, found, grown = self._width, 0, point
        while grown != found:
            found = grown
            grown |= (found << 1 | found >> 1 | found << width | found >> width) & stones
        return found


@lru_cache
def lattice(side: int) -> Lattice:
    """The board of a side."""
    return Lattice(side)


@lru_cache
def _digits(value: int) -> bytes:
    """A table that makes `1` of a value, `0` of all others."""
    return bytes(b"01"[each == value] for each in range(256))
