"""Searches against a clock: `Timed`, which has an answer when the time is over, however slow the machine has become.

A search cannot be cut off. So a short one comes first, which also measures the machine as it is now; the one that shall
use the rest of the time runs on a thread of its own, and if it is late, the short one's answer counts. Visits into ends
of the game cost next to nothing, so that positions before say little of this one: a search of FIRST_VISITS measures it
before even the short one is longer. Invariant: there is never more than one search that nobody waits for any more;
until it has ended, short ones have to do.
"""

import contextlib
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from native.errors import EngineError
from native.search import Ply
from node.play.pace import FIRST_VISITS, LEAST_VISITS, Pace

FIRST_SHARE: Final = 1 / 8
"""Of the time, for the short search."""
PLANNED_SHARE: Final = 0.85
"""Of what is left then, for the long one; the rest is for what slows it."""
WORTHWHILE: Final = 1.5
"""So many times the visits of the short one, or there is no long one."""
PROBED_S: Final = 0.1
"""With less time than that, a machine that was not measured yet searches as little as it can."""


class Timed:
    """Searches of one game or session; `search` takes visits, and is measured by `pace`."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._late: threading.Thread | None = None

    def search(self, search: Callable[[int], Ply], points: int, seconds: float, most: int) -> Ply:
        """What is found within the time, with `most` visits; the shortest search is waited for."""
        end_s = monotonic() + seconds
        first = self._pace.visits_within(points, FIRST_SHARE * seconds)
        if not self._pace.is_known(points):
            first = FIRST_VISITS if seconds > PROBED_S else LEAST_VISITS
        elif min(first, most) > FIRST_VISITS:
            search(FIRST_VISITS)
            now = self._pace.visits_within(points, FIRST_SHARE * (end_s - monotonic()))
            first = min(first, max(FIRST_VISITS, now))
        found = search(min(first, most))
        left_s = end_s - monotonic()
        visits = min(most, self._pace.visits_within(points, PLANNED_SHARE * left_s))
        if visits < WORTHWHILE * first or (self._late is not None and self._late.is_alive()):
            return found
        return self._long(search, visits, end_s) or found

    def _long(self, search: Callable[[int], Ply], visits: int, end_s: float) -> Ply | None:
        """What the long search finds; None when it is late."""
        found: list[Ply] = []

        def run() -> None:
            with contextlib.suppress(EngineError):  # then the short one's answer counts
                found.append(search(visits))

        self._late = threading.Thread(target=run, name="timed-search", daemon=True)
        self._late.start()
        self._late.join(max(0.0, end_s - monotonic()))
        return found[0] if found else None
