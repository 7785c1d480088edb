"""A position to train on, as Leela Zero's `dump_training` writes it: 19 lines of text.

Sixteen lines of planes (own stones now and after each of the 7 moves before, then the opponent's alike), 90 hexadecimal
digits and a bit each; the side to move, 0 for black; 362 numbers, the policy to learn; and 1 or -1, whether the side to move
won. Points are numbered row by row from the bottom left corner, the pass last: `leela_point` tells ours from theirs.
`parse` takes what is exactly that, and `encode` writes it as Leela Zero does. The side of a board is always 19.
"""

import math
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from native.rules import Colour
from node.exchange.errors import TrainingFileError

SIDE: Final = 19
POINTS: Final = SIDE * SIDE
HISTORY: Final = 8
PLANES: Final = 2 * HISTORY
LINES: Final = PLANES + 3
PACKED_BYTES: Final = 4 + 4 * (POINTS + 1) + PLANES * POINTS // 8 + 2
"""Length of what `pack` gives."""

_SUM_ERROR: Final = 0.001
_PLANE: Final = re.compile("[0-9a-f]{90}[01]")
_NUMBER: Final = r"[0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[+-]?[0-9]{1,2})?"
_POLICY: Final = re.compile(rf"{_NUMBER}(?: {_NUMBER})*+")


@dataclass(frozen=True, slots=True)
class TrainingPosition:
    """`planes`: a whole number each, the first point the highest of its 361 bits. `policy`: 362 probabilities by point.
    `is_won`: by the side to move. Raises TrainingFileError when no board has such planes, or the policy is none."""

    planes: tuple[int, ...]
    to_move: Colour
    policy: tuple[float, ...]
    is_won: bool

    def __post_init__(self) -> None:
        if len(self.planes) != PLANES or not all(0 <= plane < 1 << POINTS for plane in self.planes):
            raise TrainingFileError(f"A position has {PLANES} planes of {POINTS} bits.")
        if any(own & other for own, other in zip(self.planes[:HISTORY], self.planes[HISTORY:], strict=True)):
            raise TrainingFileError("A point has stones of both players.")
        if self.to_move not in (Colour.BLACK, Colour.WHITE):
            raise TrainingFileError("Nobody is to move.")
        if len(self.policy) != POINTS + 1:
            raise TrainingFileError(f"The policy has {len(self.policy)} numbers, not {POINTS + 1}.")
        if not all(0.0 <= chance <= 1.0 for chance in self.policy):
            raise TrainingFileError("A number of the policy is not between 0 and 1.")
        if abs(math.fsum(self.policy) - 1.0) > _SUM_ERROR:
            raise TrainingFileError(f"The policy adds up to {math.fsum(self.policy):.4g}, not to 1.")

    def encode(self) -> str:
        """The 19 lines, each with its end; numbers of the policy have six digits, as Leela Zero writes them."""
        planes = [f"{plane >> 1:090x}{plane & 1}" for plane in self.planes]
        policy = " ".join(f"{chance:.6g}" for chance in self.policy)
        side, outcome = "0" if self.to_move == Colour.BLACK else "1", "1" if self.is_won else "-1"
        return "\n".join((*planes, side, policy, outcome, ""))

    @classmethod
    def parse(cls, lines: Sequence[str]) -> Self:
        """Reads 19 lines without their ends; raises TrainingFileError."""
        if len(lines) != LINES:
            raise TrainingFileError(f"A position has {LINES} lines, not {len(lines)}.")
        for number, line in enumerate(lines[:PLANES], start=1):
            if not _PLANE.fullmatch(line):
                raise TrainingFileError(f"Line {number} is not 90 hexadecimal digits and a bit.")
        side, policy, outcome = lines[PLANES:]
        if side not in ("0", "1"):
            raise TrainingFileError("The side to move is neither 0 nor 1.")
        if outcome not in ("1", "-1"):
            raise TrainingFileError("The outcome is neither 1 nor -1.")
        if not _POLICY.fullmatch(policy):
            raise TrainingFileError("The policy has something other than decimal numbers.")
        planes = tuple(int(line[:-1], 16) << 1 | int(line[-1]) for line in lines[:PLANES])
        to_move = Colour.BLACK if side == "0" else Colour.WHITE
        return cls(planes, to_move, tuple(map(float, policy.split(" "))), outcome == "1")

    def pack(self) -> bytes:
        """The same in PACKED_BYTES bytes, the binary form of Leela Zero's trainer: a little-endian 1, the policy as
        binary32, the planes' bits, the side to move, and whether it won."""
        bits = 0
        for plane in self.planes:
            bits = bits << POINTS | plane
        policy = struct.pack(f"<i{POINTS + 1}f", 1, *self.policy)
        return policy + bits.to_bytes(PLANES * POINTS // 8, "big") + bytes((self.to_move == Colour.WHITE, self.is_won))


def leela_point(point: int) -> int:
    """Leela Zero's number of a point, or of the pass; applied twice it gives the point back."""
    return point if point == POINTS else (SIDE - 1 - point // SIDE) * SIDE + point % SIDE
