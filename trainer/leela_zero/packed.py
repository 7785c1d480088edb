"""The layout of a packed position, 2176 bytes: the binary form of Leela Zero's own trainer (its `parse.py`).

A little-endian 1, the policy as 362 binary32, 16 planes of 361 bits (the mover's stones now and after each of the 7 moves
before, then the opponent's), whether white is to move, and whether the side to move won.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from trainer.network.leela_zero_weights import PLANES, POINTS

HISTORY_PLANES: Final = PLANES - 2
"""Planes of stones; the two others say whose turn it is, and are no bits here."""

RECORD: Final = np.dtype(
    [
        ("version", "<i4"),
        ("policy", "<f4", POINTS + 1),
        ("planes", "u1", HISTORY_PLANES * POINTS // 8),
        ("white", "u1"),
        ("won", "u1"),
    ]
)
