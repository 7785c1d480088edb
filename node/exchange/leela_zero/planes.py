"""Leela Zero's input planes of a position: its stones, and those after each of the seven moves before."""

from collections.abc import Sequence

from native.rules import Colour
from node.exchange.leela_zero.position import HISTORY, POINTS, SIDE


def board_planes(stones: bytes) -> tuple[int, int]:
    """Black's stones and white's on a board of 19x19, a bit a point, the bottom left corner highest.

    `stones` is a Colour a point, from the top left corner.
    """
    rows = [stones[start : start + SIDE] for start in range(POINTS - SIDE, -1, -SIDE)]
    text = b"".join(rows)
    black, white = (
        int(bytes(0x31 if stone == colour else 0x30 for stone in text), 2) for colour in (Colour.BLACK, Colour.WHITE)
    )
    return black, white


def input_planes(boards: Sequence[tuple[int, int]], to_move: Colour) -> tuple[int, ...]:
    """The 16 planes, from `board_planes` of every position of the game in order, the one to look at last."""
    recent = [*reversed(boards[-HISTORY:]), *[(0, 0)] * (HISTORY - len(boards))]
    own = to_move - Colour.BLACK
    return tuple(board[own] for board in recent) + tuple(board[1 - own] for board in recent)
