"""Which screen a node gets: JSON lines for programs, a panel on a terminal, plain lines everywhere else.

Spec: `docs/commands.md` ("What a node prints").
"""

import io
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from node.control import Command
from node.events import Events, JsonLines
from node.metrics.address import MetricsAddress
from node.screen.level import Level
from node.screen.lines import LogLines, PlainLines
from node.status import Status

NO_PANEL = ("", "dumb", "unknown")
"""Values of TERM that say that nothing can be drawn."""


@dataclass(frozen=True, slots=True)
class Output:
    """What the command line says of what is printed, and where metrics are served."""

    as_json: bool = False
    plain: bool = False
    level: Level = Level.INFO
    metrics: MetricsAddress | None = None


class Screen(Events, Protocol):
    """Where a node's events go, and which shows how it stands while it runs."""

    async def run(self, status: Callable[[], Status], commands: Mapping[str, Command]) -> None:
        """Shows what `status` says, and gives `commands` as keys ask for them, until cancelled."""
        ...


def open_screen(role: str, output: Output) -> Screen:
    """The screen of a role, on standard output."""
    if output.as_json:
        return JsonLines(role)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    screen = _panel(role, output.level) if _is_terminal() and not output.plain else None
    lines = screen or PlainLines(role, output.level, sys.stdout)
    logger = logging.getLogger("gonode")
    logger.addHandler(LogLines(lines.say, output.level))
    if output.level == Level.DEBUG:
        logger.setLevel(logging.DEBUG)
    return lines


def _is_terminal() -> bool:
    """Whether standard output is a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in NO_PANEL


def _panel(role: str, level: Level) -> Any:
    """The panel; with keys where standard input is a terminal too."""
    from rich.console import Console

    from node.screen.live import LivePanel
    from node.screen.terminal import Terminal

    console = Console(file=sys.stdout, force_terminal=True, highlight=False, markup=False, emoji=False)
    keys = Terminal(sys.stdin.fileno()) if sys.stdin.isatty() else None
    return LivePanel(role, level, console, keys, Terminal(sys.stdout.fileno()))
