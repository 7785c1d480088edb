"""A board in the top left corner of a square canvas, as the arrays of KataGo's files have it: `Canvas`."""

from collections.abc import Iterable, Sequence

_BINARY = bytes((0x30, *(0x31,) * 255))


class Canvas:
    """Boards of one side on a canvas of another, at least as large. Points are row-major on both; the pass comes last."""

    def __init__(self, side: int, pos_len: int) -> None:
        self._side, self._pos_len = side, pos_len
        self.points = pos_len * pos_len
        self.packed_bytes = (self.points + 7) // 8
        self._places = [point // side * pos_len + point % side for point in range(side * side)]
        self._gap = bytes(pos_len - side)

    def bits(self, plane: bytes) -> int:
        """Which points of a board are not 0: the canvas' first point is the highest of `packed_bytes` bytes' bits."""
        return int(self.spread(plane).translate(_BINARY), 2) << 8 * self.packed_bytes - self.points

    def bits_of(self, points: Iterable[int]) -> int:
        """The same of a set of points."""
        highest = 8 * self.packed_bytes - 1
        return sum(1 << highest - self._places[point] for point in set(points))

    def pack(self, plane: int) -> bytes:
        """The bytes of what `bits` gave."""
        return plane.to_bytes(self.packed_bytes, "big")

    def spread(self, plane: bytes) -> bytes:
        """A byte a point of the canvas, 0 outside of the board."""
        side = self._side
        rows = b"".join(plane[start : start + side] + self._gap for start in range(0, side * side, side))
        return rows.ljust(self.points, b"\0")

    def moves(self, numbers: Sequence[int]) -> list[int]:
        """Numbers a move, the pass last, 0 outside of the board."""
        found = [0] * (self.points + 1)
        for place, number in zip(self._places, numbers, strict=False):
            found[place] = number
        found[-1] = numbers[-1]
        return found
