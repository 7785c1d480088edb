"""Plain lines: one UTC line an event with its level, and a summary every two minutes, also when nothing happens.

Spec: `docs/commands.md` ("What a node prints"). No carriage returns, no colours, one line an event whatever its text holds.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TextIO

import trio

from node.control import Command
from node.events import Field
from node.screen.clean import clean
from node.screen.lately import Lately
from node.screen.level import Level, level_of
from node.screen.row import Row
from node.screen.rows import rows_now
from node.status import Status

SUMMARY_EVERY_S: Final = 120.0


class PlainLines:
    """A `Screen` of lines; those below `level` are not printed. `unix_s` is the wall clock."""

    def __init__(self, role: str, level: Level, stream: TextIO, unix_s: Callable[[], float] = time.time) -> None:
        self._role = role
        self._level = level
        self._stream = stream
        self._unix_s = unix_s
        self._lately = Lately(time.monotonic)

    def __call__(self, event: str, text: str, **values: Field) -> None:
        """See `Events`."""
        self._lately.hear(event, values)
        self.say(level_of(event), text)

    def say(self, level: Level, text: str) -> None:
        """Prints a line, unless its level is too low."""
        if level >= self._level:
            with suppress(OSError):  # the node goes on without a terminal that was closed, or a reader that is gone
                print(line(self._unix_s(), level, self._role, text), file=self._stream, flush=True)

    async def run(self, status: Callable[[], Status], commands: Mapping[str, Command]) -> None:
        """Prints summaries until cancelled."""
        while True:
            await trio.sleep(SUMMARY_EVERY_S)
            self.say(Level.INFO, summary(rows_now(status, self._lately)))


def line(unix_s: float, level: Level, role: str, text: str) -> str:
    """One event's line, without its end."""
    shown = " ".join(clean(text).split())
    return f"{time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(unix_s))} {level.word:<7} {role:<11} {shown}"


def summary(rows: Sequence[Row]) -> str:
    """The rows in a sentence."""
    return f"{'; '.join(row.sentence for row in rows[1:])}."


class LogLines(logging.Handler):
    """Has what the program's loggers say printed as lines too: warnings, and with the level `debug` all of it as such."""

    def __init__(self, say: Callable[[Level, str], None], level: Level) -> None:
        super().__init__(logging.DEBUG if level == Level.DEBUG else logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        level = Level(min(max(record.levelno // 10 * 10, Level.WARNING), Level.ERROR))
        self._say(level if record.levelno >= logging.WARNING else Level.DEBUG, record.getMessage())
