"""Which packed positions are of one game: `games_of`. Training files do not say where a game begins.

A position shows its last eight boards, so the next one of its game, or one up to seven moves later, shows some of them
again, as many moves further back. What does not join so, as where more positions were left out, counts as another game.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from trainer.leela_zero.packed import HISTORY_PLANES, RECORD
from trainer.network.leela_zero_weights import POINTS

Numbers = npt.NDArray[np.int64]
Boards = npt.NDArray[Any]

_AT_ONCE: Final = 4096
_BOARDS: Final = HISTORY_PLANES // 2


def games_of(records: npt.NDArray[Any]) -> Numbers:
    """The number of each position's game, [N]: 0 for the first, one more with each game; `records`, [N], are `RECORD`s."""
    begins = np.ones(len(records), bool)
    for start in range(0, len(records) - 1, _AT_ONCE):
        part = np.asarray(records[start : start + _AT_ONCE + 1], RECORD)
        boards = _boards(part)
        is_white = part["white"] != 0
        joins = np.zeros(len(part) - 1, bool)
        for moves in range(1, _BOARDS):
            joins |= _joins(boards, is_white, moves)
        begins[start + 1 : start + len(part)] = ~joins
    numbers: Numbers = np.cumsum(begins) - 1
    return numbers


def _boards(part: npt.NDArray[Any]) -> Boards:
    """Stones of the mover and of the opponent, newest first, each plane one comparable value: [n, 2, 8]."""
    bits = np.unpackbits(part["planes"], axis=1).reshape(-1, POINTS)
    planes = np.ascontiguousarray(np.packbits(bits, axis=1))
    return planes.view(f"V{planes.shape[1]}").reshape(len(part), 2, _BOARDS)


def _joins(boards: Boards, is_white: npt.NDArray[np.bool_], moves: int) -> npt.NDArray[np.bool_]:
    """Whether each position but the first shows what the one before it shows, so many moves further back: [n - 1]."""
    before, after = boards[:-1], boards[1:]
    if moves % 2:
        before = before[:, ::-1]  # the mover was the opponent
    is_shown = (after[:, :, moves:] == before[:, :, : _BOARDS - moves]).all((1, 2))
    is_turn = (is_white[1:] != is_white[:-1]) == bool(moves % 2)
    is_empty = (boards[:-1, :, 0] == np.zeros((), boards.dtype)).all(1)  # an empty board is shown by every beginning
    found: npt.NDArray[np.bool_] = is_shown & is_turn & (~is_empty if moves > 1 else True)
    return found
