"""Whole days of games as files: `/dumps`."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from node.web.games.days import DAY_S, END, DayFiles, name_of
from node.web.queries.records import PAGE, Listed, numbered, one

MADE: Final = "made"
GROWS: Final = "grows"
WAITS: Final = "waits"
LEFT_OUT: Final = "left out"


@dataclass(frozen=True, slots=True)
class DayLine:
    """A day by UTC with games in the log: `state` says whether its file is made, waits to be, grows (the day is not over),
    or was left out for room. Numbers are those of the file, `known` how many batches the log has of that day."""

    day: str
    state: str
    file: str
    games: int
    batches: int
    known: int
    bytes: int
    sha256: str


def dumps(db: sqlite3.Connection, files: DayFiles, before: str | None = None) -> Listed[DayLine]:
    """Days, newest first; raises BadQuestion."""
    newest = one(db, "SELECT unix_s FROM run")
    end, day = min(numbered(before), 2**40) * DAY_S, 0
    lines: list[DayLine] = []
    while len(lines) < PAGE:
        last = one(db, "SELECT max(unix_s) FROM contents WHERE unix_s < ?", (end,))
        if last is None:
            break
        day = last // DAY_S
        lines.append(_line(db, files, day, newest))
        end = day * DAY_S
    return Listed(tuple(lines), str(day) if len(lines) == PAGE else None)


def _line(db: sqlite3.Connection, files: DayFiles, day: int, newest: int | None) -> DayLine:
    name = name_of(day)
    found = files.find(day)
    if found is None:
        query = "SELECT count(*) FROM contents WHERE unix_s >= ? AND unix_s < ?"
        known = one(db, query, (day * DAY_S, (day + 1) * DAY_S))
        is_over = newest is not None and newest // DAY_S > day
        return DayLine(name, WAITS if is_over else GROWS, "", 0, 0, known, 0, "")
    state, file = (MADE, f"{name}{END}") if found.is_kept else (LEFT_OUT, "")
    return DayLine(name, state, file, found.games, found.batches, found.known, found.bytes, found.sha256)
