"""The rules of a game as a checked record, and the numbers of colours and ends (docs/spec/rules.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from native._engine import ffi, lib
from native.errors import EngineError

if TYPE_CHECKING:
    from native._engine import CData


class Ko(IntEnum):
    """Which repetitions are forbidden."""

    SIMPLE = lib.GO_KO_SIMPLE
    POSITIONAL = lib.GO_KO_POSITIONAL
    SITUATIONAL = lib.GO_KO_SITUATIONAL


class Scoring(IntEnum):
    """What counts at the end."""

    AREA = lib.GO_SCORING_AREA
    TERRITORY = lib.GO_SCORING_TERRITORY


class Colour(IntEnum):
    """The content of a point, or a player."""

    EMPTY = lib.GO_EMPTY
    BLACK = lib.GO_BLACK
    WHITE = lib.GO_WHITE

    @property
    def other(self) -> Colour:
        """The opponent; of a player only."""
        return Colour(3 - self)


class End(IntEnum):
    """How a game ended, NONE while it goes on."""

    NONE = lib.GO_END_NONE
    PASSES = lib.GO_END_PASSES
    SETTLED = lib.GO_END_SETTLED
    CAP = lib.GO_END_CAP


MAX_SIDE = 19
MAX_KOMI_HALF = 32767
MAX_MOVES = 65534


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of a game; the defaults are Tromp-Taylor's. Raises EngineError when a number is out of range.

    `suicide` allows it for two stones or more. `pass_alive`: area scoring gives dead stones inside pass-alive
    territory to its owner. `settled_end`: the game ends when pass-alive areas cover the board. `move_cap` counts
    passes too; 0 is no cap of the rules' own (the engine ends any game after MAX_MOVES).
    """

    rows: int
    cols: int
    komi_half: int
    ko: Ko = Ko.POSITIONAL
    suicide: bool = True
    scoring: Scoring = Scoring.AREA
    pass_alive: bool = False
    settled_end: bool = False
    move_cap: int = 0

    def __post_init__(self) -> None:
        if not (1 <= self.rows <= MAX_SIDE and 1 <= self.cols <= MAX_SIDE):
            raise EngineError(f"A board has 1 to {MAX_SIDE} rows and columns, not {self.rows} by {self.cols}.")
        if not -MAX_KOMI_HALF <= self.komi_half <= MAX_KOMI_HALF:
            raise EngineError(f"A komi of {self.komi_half} half points is out of range.")
        if not 0 <= self.move_cap <= MAX_MOVES:
            raise EngineError(f"A move cap of {self.move_cap} is not between 0 and {MAX_MOVES}.")
        if self.ko not in list(Ko) or self.scoring not in list(Scoring):
            raise EngineError("The ko rule or the scoring is unknown.")

    @property
    def points(self) -> int:
        """Points of the board; also the number of the pass."""
        return self.rows * self.cols

    def to_c(self) -> CData:
        """A new `go_rules *` with these rules."""
        return ffi.new(
            "go_rules *",
            {
                "rows": self.rows,
                "cols": self.cols,
                "ko": int(self.ko),
                "suicide": int(self.suicide),
                "scoring": int(self.scoring),
                "pass_alive": int(self.pass_alive),
                "settled_end": int(self.settled_end),
                "komi_half": self.komi_half,
                "move_cap": self.move_cap,
            },
        )
