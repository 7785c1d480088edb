"""How long a player's moves took, and how many took too long: `MoveTimes`."""

from dataclasses import dataclass
from typing import Any, Final

GRACE_S: Final = 0.5
"""A move that takes longer than its time by no more than this is in time: pipes, threads and the machine take some."""


@dataclass(frozen=True, slots=True)
class MoveTimes:
    """`late` moves of so many took longer than they may, with the grace; ValueError for what no times are."""

    moves: int = 0
    total_ms: int = 0
    longest_ms: int = 0
    late: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.late <= self.moves and 0 <= self.longest_ms <= self.total_ms):
            raise ValueError("times of moves do not fit each other")

    def add(self, seconds: float, most_s: float) -> "MoveTimes":
        """With one more move, for which there were `most_s`."""
        ms = round(1000 * seconds)
        return self + MoveTimes(1, ms, ms, int(seconds > most_s + GRACE_S))

    def __add__(self, other: "MoveTimes") -> "MoveTimes":
        longest = max(self.longest_ms, other.longest_ms)
        return MoveTimes(self.moves + other.moves, self.total_ms + other.total_ms, longest, self.late + other.late)

    @property
    def mean_s(self) -> float:
        """Seconds a move; 0 without moves."""
        return self.total_ms / 1000 / max(1, self.moves)

    @property
    def longest_s(self) -> float:
        """Seconds of the longest move."""
        return self.longest_ms / 1000

    def to_json(self) -> list[int]:
        """The times in a line of a record."""
        return [self.moves, self.total_ms, self.longest_ms, self.late]

    @classmethod
    def from_json(cls, found: Any) -> "MoveTimes":
        """What `to_json` gave; raises ValueError or TypeError for anything else."""
        moves, total_ms, longest_ms, late = found
        if not all(type(each) is int for each in (moves, total_ms, longest_ms, late)):
            raise ValueError("times of moves are whole numbers")
        return cls(moves, total_ms, longest_ms, late)
