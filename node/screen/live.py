"""The panel on a terminal, drawn once a second below the lines of what happened, and the keys that it takes.

Spec: `docs/commands.md` ("What a node prints"). Invariants: the terminal is as before whenever this process ends, fails, is
stopped by Ctrl-Z or goes to the background; one that is gone ends no node; keys do what the same commands do through the
node's socket.
"""

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import Any, Final

import trio
from rich.console import Console
from rich.live import Live
from rich.text import Text

from node.control import Command
from node.events import Field
from node.screen.lately import Lately
from node.screen.level import Level, level_of
from node.screen.lines import line
from node.screen.panel import panel
from node.screen.row import Row
from node.screen.rows import rows_now
from node.screen.terminal import Terminal
from node.status import Status

EVERY_S: Final = 1.0
KEPT_LINES: Final = 200
SHOWN_LINES: Final = 20
KEYS: Final = {
    "p": ("pause", "pause", "Pause: games in flight are put down, and this machine is free."),
    "r": ("resume", "resume", "Resume: play goes on where it was."),
    "q": (
        "drain",
        "end in order",
        "End in order: what is complete is sent first, and nothing is lost. So does Ctrl-C.",
    ),
    "Q": ("stop", "stop now", "Stop at once; everything finished is kept."),
}
"""By key: the command that it gives, its short and its long description."""

SHOWN: Final = ("registered", "paused", "resumed", "spent", "draining", "stopping")
"""Events that are shown whatever their level."""

RESTS: Final = ("pause", "resume")
LOG, HELP = "l", "?"
_STYLES: Final = {Level.WARNING: "yellow", Level.ERROR: "red"}
_LEAVING: Final = (signal.SIGTSTP, signal.SIGCONT, signal.SIGQUIT)


class LivePanel:
    """A `Screen` for people. Lines below `level` are kept and shown with the key `l`; `keys` is None without a keyboard."""

    def __init__(
        self, role: str, level: Level, console: Console, keys: Terminal | None, shown_on: Terminal | None = None
    ) -> None:
        self._role = role
        self._level = max(level, Level.WARNING)
        self._least = level
        self._console = console
        self._keys = keys
        self._shown_on = shown_on
        self._live: Live | None = None
        self._kept: deque[Text] = deque(maxlen=KEPT_LINES)
        self._lately = Lately(time.monotonic)
        self._shows_log = self._shows_help = False
        self._status: Callable[[], Status] | None = None
        self._commands: Mapping[str, Command] = {}
        self._is_ascii = "utf" not in console.encoding.lower()

    # ---- lines

    def __call__(self, event: str, text: str, **values: Field) -> None:
        """See `Events`."""
        self._lately.hear(event, values)
        is_first = self._live is None  # before there is a panel, lines are all there is
        self.say(level_of(event), text, is_shown=is_first or event in SHOWN)

    def say(self, level: Level, text: str, is_shown: bool = False) -> None:
        """Prints a line above the panel if its level is high enough or the log is wanted, and keeps it."""
        if level < self._least:
            return
        made = Text(line(time.time(), level, self._role, text), _STYLES.get(level, ""))
        if is_shown or self._shows_log or level >= self._level:
            self._print(made)
        else:
            self._kept.append(made)

    def _print(self, made: Text) -> None:
        with self._writing():
            self._console.print(made, soft_wrap=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The node goes on when its terminal is gone, and shows nothing more."""
        try:
            yield
        except OSError:
            self._console.file = StringIO()
            self._console.quiet = True

    # ---- the panel

    async def run(self, status: Callable[[], Status], commands: Mapping[str, Command]) -> None:
        """Draws and takes keys until cancelled."""
        self._status, self._commands = status, commands
        watched = [each for each in _LEAVING if signal.getsignal(each) != signal.SIG_IGN]
        try:
            with trio.open_signal_receiver(*watched) as received:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._watch_signals, received)
                    if self._keys is not None:
                        nursery.start_soon(self._take_keys, self._keys)
                    await trio.lowlevel.checkpoint()  # until those who began with this take their signals
                    while True:
                        self.draw()
                        await trio.sleep(EVERY_S)
        finally:
            self._leave()

    def draw(self) -> None:
        """Draws the panel as things are now; in the background nothing."""
        if self._keys is not None and not self._keys.is_foreground:
            return
        if self._shown_on is not None and self._shown_on.is_background:
            return
        if self._console.quiet:
            return
        with self._writing():
            self._draw()

    def _draw(self) -> None:
        if self._live is None:
            live = Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="crop")
            live.start()
            self._live = live
        if self._keys is not None:
            self._keys.enter()
        self._live.update(self.picture(), refresh=True)

    def picture(self) -> Text:
        """What is shown now."""
        assert self._status is not None
        rows = rows_now(self._status, self._lately) + self._key_rows()
        return panel(rows, self._console.width, self._console.height - 1, self._is_ascii)

    def _offers(self, command: str) -> bool:
        """Whether a key gives this command: only play can rest, and a drain ends no coordinator."""
        is_fit = self._role == "contributor" if command in RESTS else (command, self._role) != ("drain", "coordinator")
        return is_fit and command in self._commands

    def _key_rows(self) -> tuple[Row, ...]:
        if self._keys is None:
            return ()
        offered = [(key, short, long) for key, (name, short, long) in KEYS.items() if self._offers(name)]
        if not self._shows_help:
            shorts = [f"{key} {short}" for key, short, _ in offered]
            return (Row("", (*shorts, f"{LOG} log", f"{HELP} help")),)
        rows = [Row(key, (long,)) for key, _, long in offered]
        log = "Show what happens, line by line, above this; again: only what needs you."
        return (*rows, Row(LOG, (log,)), Row(HELP, ("Show this; again: hide it.",)))

    def _leave(self) -> None:
        """Takes the panel away and restores the terminal."""
        live, self._live = self._live, None
        if live is not None:
            with self._writing():
                live.stop()
        if self._keys is not None:
            self._keys.leave()

    # ---- signals and keys

    async def _watch_signals(self, received: Any) -> None:
        async for number in received:
            if number != signal.SIGCONT:
                self._leave()
                _obey(number)
            elif self._keys is not None:
                self._keys.leave()  # whoever stopped this process may have changed the terminal since
            self.draw()

    async def _take_keys(self, terminal: Terminal) -> None:
        while True:
            await trio.lowlevel.wait_readable(terminal.number)
            if not terminal.is_foreground:
                await trio.sleep(EVERY_S)
                continue
            try:
                pressed = terminal.read()
            except EOFError:
                return
            for key in pressed:
                await self.press(key)
            self.draw()

    async def press(self, key: str) -> None:
        """Does what a key asks for; an unknown one nothing."""
        if key == LOG:
            self._shows_log = not self._shows_log
            if self._shows_log:
                for kept in list(self._kept)[-SHOWN_LINES:]:
                    self._print(kept)
                self._kept.clear()
        elif key == HELP:
            self._shows_help = not self._shows_help
        elif key in KEYS and self._offers(KEYS[key][0]):
            answer = await self._commands[KEYS[key][0]]()
            if isinstance(answer.get("error"), str):
                self.say(Level.WARNING, answer["error"])


def _obey(number: int) -> None:
    """Does what a signal does to a process that does not handle it; returns when it is continued."""
    handler = signal.signal(number, signal.SIG_DFL)
    signal.pthread_kill(threading.get_ident(), number)
    signal.signal(number, handler)
