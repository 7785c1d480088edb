"""How fast searches are on this machine now, and so how many visits fit into a time."""

from typing import Final

MOST_VISITS: Final = 60_000
LEAST_VISITS: Final = 2
FIRST_VISITS: Final = 16
"""Visits of the search that is measured before anything is known."""
KEPT: Final = 5


class Pace:
    """Seconds a visit by the last searches of each board size; the slowest of them counts, since load comes and goes."""

    def __init__(self) -> None:
        self._measured: dict[int, list[float]] = {}

    def note(self, points: int, visits: int, seconds: float) -> None:
        """A search of so many visits took so long; of short ones, whose beginning weighs much, only the first counts."""
        if visits < FIRST_VISITS and self.is_known(points):
            return
        measured = self._measured.setdefault(points, [])
        measured.append(seconds / visits)
        del measured[:-KEPT]

    def is_known(self, points: int) -> bool:
        """Whether a board of so many points was searched before."""
        return points in self._measured

    def visits_within(self, points: int, seconds: float) -> int:
        """Visits that take no longer than that."""
        if not self.is_known(points):
            return FIRST_VISITS
        return max(LEAST_VISITS, min(MOST_VISITS, int(seconds / max(1e-9, *self._measured[points], 1e-9))))
