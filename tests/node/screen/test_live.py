"""The panel: what is drawn, which lines are above it, what the keys do."""

import io
import os
from typing import Any

import pytest
from rich.console import Console

from node.role_status import Verifying
from node.screen.level import Level
from node.screen.live import LivePanel
from node.screen.terminal import Terminal
from node.status import Status
from tests.node.screen.closed import Closed
from tests.node.screen.statuses import COORDINATING, contributor, status


class Keyboard(Terminal):
    """A terminal that is always in the foreground and changes nothing."""

    def __init__(self) -> None:
        super().__init__(-1)

    @property
    def is_foreground(self) -> bool:
        return True

    def enter(self) -> None:
        pass


class Shown:
    """A panel on a terminal of `width` by 24, and the commands that it gave."""

    def __init__(self, status: Status, width: int = 100, level: Level = Level.INFO, colours: bool = True) -> None:
        self.stream = io.StringIO()
        self.given: list[str] = []
        self.answer: dict[str, Any] = {"ok": True}
        console = Console(
            file=self.stream, width=width, height=24, force_terminal=True, no_color=not colours, color_system="standard"
        )
        self.panel = LivePanel(status.role, level, console, Keyboard())
        self.panel._status = lambda: status
        self.panel._commands = {name: self._command(name) for name in ("status", "pause", "resume", "drain", "stop")}

    def _command(self, name: str) -> Any:
        async def give() -> dict[str, Any]:
            self.given.append(name)
            return self.answer

        return give

    @property
    def lines(self) -> list[str]:
        return self.panel.picture().plain.split("\n")

    def written(self) -> str:
        found = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return found


def test_a_panel_ends_with_its_keys() -> None:
    shown = Shown(contributor())
    assert shown.lines[0].startswith("gonode    0.4.1 mira")
    assert shown.lines[-1] == "          p pause · r resume · q end in order · Q stop now · l log · ? help"


def test_keys_are_those_that_the_role_knows() -> None:
    assert Shown(status(Verifying(3, 400))).lines[-1] == "          q end in order · Q stop now · l log · ? help"
    assert Shown(status(COORDINATING)).lines[-1] == "          Q stop now · l log · ? help"


async def test_keys_give_commands() -> None:
    shown = Shown(contributor())
    for key in "prqQxyz\n":
        await shown.panel.press(key)
    assert shown.given == ["pause", "resume", "drain", "stop"]
    other = Shown(status(Verifying(3, 400)))
    for key in "prqQ":
        await other.panel.press(key)
    assert other.given == ["drain", "stop"]


async def test_a_command_that_is_refused_is_a_line() -> None:
    shown = Shown(contributor())
    shown.answer = {"error": "This node cannot rest now."}
    await shown.panel.press("p")
    assert "warning contributor This node cannot rest now." in shown.written()


async def test_help_explains_the_keys() -> None:
    shown = Shown(contributor(), width=60)
    await shown.panel.press("?")
    assert [line.split()[0] for line in shown.lines[-7:] if line[0] != " "] == ["r", "q", "Q", "l", "?"]
    assert all(len(line) <= 60 for line in shown.lines)
    await shown.panel.press("?")
    assert "? help" in shown.lines[-1]


async def test_quiet_lines_come_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(contributor())
    shown.panel("listening", "Listening at /ip4/1.")
    assert "Listening" in shown.written()  # there is no panel yet
    shown.panel.draw()
    shown.written()
    shown.panel("game", "Game 3 finished.")
    shown.panel("mirrored", "Below the level.")
    assert shown.written() == ""
    shown.panel("waiting", "Nobody is there.")
    assert "Nobody is there." in shown.written()
    await shown.panel.press("l")
    log = shown.written()
    assert "Game 3 finished." in log
    assert "Below the level." not in log
    shown.panel("game", "Game 4 finished.")
    assert "Game 4 finished." in shown.written()
    await shown.panel.press("l")
    shown.panel("game", "Game 5 finished.")
    assert shown.written() == ""
    shown.panel._leave()


def test_errors_alone() -> None:
    shown = Shown(contributor(), level=Level.ERROR)
    shown.panel.draw()
    shown.written()
    shown.panel("waiting", "Nobody is there.")
    assert shown.written() == ""
    shown.panel("fault", "Look here.")
    assert "Look here." in shown.written()
    shown.panel._leave()


@pytest.mark.parametrize("colours", [True, False])
def test_without_colours(colours: bool) -> None:
    shown = Shown(contributor(), colours=colours)
    shown.panel.draw()
    shown.panel._leave()
    assert ("\x1b[1;32mplaying" in shown.written()) == colours


def test_the_cursor_comes_back() -> None:
    shown = Shown(contributor())
    shown.panel.draw()
    assert shown.written().count("\x1b[?25l") == 1
    shown.panel._leave()
    assert "\x1b[?25h" in shown.written()


@pytest.mark.parametrize("when", ["before", "drawn"])
async def test_a_terminal_that_is_gone_ends_no_node(when: str) -> None:
    stream = Closed()
    stream.is_gone = when == "before"
    console = Console(file=stream, width=100, height=24, force_terminal=True)
    shown = LivePanel("contributor", Level.INFO, console, Keyboard())
    shown._status = contributor
    shown.draw()
    stream.is_gone = True
    for _ in range(3):
        shown("waiting", "Nobody is there.")
        shown.draw()
    await shown.press("l")
    shown._leave()


def test_nothing_is_drawn_from_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without a keyboard, as behind `</dev/null &`."""
    shown_on = Terminal(1)
    stream = io.StringIO()
    console = Console(file=stream, width=100, height=24, force_terminal=True)
    shown = LivePanel("contributor", Level.INFO, console, None, shown_on)
    shown._status = contributor
    monkeypatch.setattr(os, "tcgetpgrp", lambda number: os.getpgrp() + number)
    shown.draw()
    assert stream.getvalue() == ""
    monkeypatch.setattr(os, "tcgetpgrp", lambda number: os.getpgrp())
    shown.draw()
    assert "contributor" in stream.getvalue() or "playing" in stream.getvalue()
    shown._leave()
