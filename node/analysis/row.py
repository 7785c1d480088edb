"""How many visits the searches of one position have, one after the other: `searches`.

A search cannot be looked into while it runs, nor stopped. Where nothing is told before the end there is one search, with
all the visits; where something is, there is a row of them, each with twice the visits of the one before, the last with
all. Seconds are kept by visits: as many as fit, by the last searches here. Who asks for more visits than a search has
asks for a row without an end, of which no search takes longer than LONGEST_S.
"""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

from node.analysis.query import Wishes
from node.analysis.settings import Settings
from node.play.pace import FIRST_VISITS, MOST_VISITS, Pace
from node.play.report import Report

LONGEST_S: Final = 10.0
PLANNED_SHARE: Final = 0.85
"""Of the time that is left, for the next search with its report."""
WORTHWHILE: Final = 1.5
"""So many times the visits of the last search, or there is no further one."""


def searches(
    think: Callable[[int], Report], points: int, settings: Settings, wishes: Wishes, pace: Pace
) -> Iterator[tuple[Report, bool]]:
    """What each search finds, and whether it is the last one; `think` takes visits."""
    began_s = monotonic()
    most = min(settings.visits, MOST_VISITS)
    visits = _first(points, most, settings, wishes, pace)
    while True:
        search_s = monotonic()
        found = think(visits)
        pace.note(points, visits, monotonic() - search_s)
        following = None if visits >= most else _next(points, visits, most, settings, wishes, pace, began_s)
        yield found, following is None
        if following is None:
            return
        visits = following


def _first(points: int, most: int, settings: Settings, wishes: Wishes, pace: Pace) -> int:
    if wishes.first_s is not None:
        fitting = pace.visits_within(points, wishes.first_s / 2)
        if settings.time_s is not None:
            fitting = min(fitting, pace.visits_within(points, PLANNED_SHARE * settings.time_s))
        return min(most, fitting)
    if settings.time_s is not None:
        return min(most, pace.visits_within(points, PLANNED_SHARE * settings.time_s))
    return most if settings.visits <= MOST_VISITS else min(most, FIRST_VISITS)


def _next(
    points: int, visits: int, most: int, settings: Settings, wishes: Wishes, pace: Pace, began_s: float
) -> int | None:
    """The visits of the next search, None when there is none."""
    following = most if wishes.first_s is None and settings.visits <= MOST_VISITS else min(most, 2 * visits)
    limits_s = [LONGEST_S] if settings.visits > MOST_VISITS else []
    if settings.time_s is not None:
        limits_s.append(PLANNED_SHARE * (settings.time_s - (monotonic() - began_s)))
    if limits_s:
        following = min(following, pace.visits_within(points, max(0.0, min(limits_s))))
    return following if following >= min(most, WORTHWHILE * visits) else None
