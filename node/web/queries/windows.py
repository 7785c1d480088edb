"""Stretches of time that end with the newest head: a day, a week, all of the run.

Hours are whole ones, so that a day is the hour that runs and the 23 before it. The clock is the witnesses', never this
machine's: the same log gives the same answer.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from node.web.model.sums import HOUR_S, NO_HOUR
from node.web.queries.records import BadQuestion

HOURS: Final = {"day": 24, "week": 168, "all": None}


@dataclass(frozen=True, slots=True)
class Window:
    """From `hour` on; `seconds` is how much of it has passed, None where no head has a time."""

    name: str
    hour: int
    seconds: int | None


def window_of(db: sqlite3.Connection, name: str) -> Window:
    """A stretch by its name; raises BadQuestion."""
    if name not in HOURS:
        raise BadQuestion(f"window= is one of {', '.join(HOURS)}.")
    row = db.execute("SELECT unix_s, first_unix_s FROM run").fetchone()
    last, first = (None, None) if row is None else (row[0], row[1])
    hours = HOURS[name]
    if last is None or first is None:
        return Window(name, NO_HOUR, None)
    begin = first if hours is None else max(first, (last // HOUR_S - hours + 1) * HOUR_S)
    return Window(name, NO_HOUR if hours is None else last // HOUR_S - hours + 1, last - begin)
