"""The terminal that a node runs in: keys one by one without echo while it is in the foreground, and as before afterwards.

Invariants: what `enter` changes `leave` restores; a process in the background neither changes nor reads its terminal, which
would stop it. Ctrl-C, Ctrl-Z and Ctrl-\\ stay signals.
"""

import os
import re
import select
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_INPUT, _LOCAL, _CHARACTERS = 0, 3, 6
KEYS_BYTES: Final = 256
_SEQUENCE: Final = re.compile(rb"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.|$)", re.DOTALL)


class Terminal:
    """The terminal that the file number `number` is open on."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._saved: list[Any] | None = None

    @property
    def is_foreground(self) -> bool:
        """Whether this process is the one that the terminal listens to."""
        try:
            return os.tcgetpgrp(self.number) == os.getpgrp()
        except OSError:
            return False

    @property
    def is_background(self) -> bool:
        """Whether the terminal listens to another process; a terminal that does not say so counts as this one's."""
        try:
            return os.tcgetpgrp(self.number) != os.getpgrp()
        except OSError:
            return False

    def enter(self) -> None:
        """Has keys come one by one, without echo; does nothing in the background, or when that is so already."""
        if self._saved is not None or not self.is_foreground:
            return
        try:
            saved = termios.tcgetattr(self.number)
            changed = termios.tcgetattr(self.number)
            changed[_LOCAL] &= ~(termios.ICANON | termios.ECHO)
            changed[_INPUT] &= ~termios.IXON  # Ctrl-S would stop the node's output, and with it the node
            changed[_CHARACTERS][termios.VMIN], changed[_CHARACTERS][termios.VTIME] = 1, 0
            self._set(changed)
        except termios.error:  # it is gone
            return
        self._saved = saved

    def leave(self) -> None:
        """Restores what `enter` changed; does nothing when it changed nothing."""
        saved, self._saved = self._saved, None
        if saved is not None:
            try:
                self._set(saved)
            except termios.error:
                return

    def read(self) -> str:
        """The keys that were pressed, without those that send sequences, such as arrows.

        Does not wait: what there was to read may have been for another process until this one came to the foreground.
        Raises EOFError when the terminal is gone.
        """
        try:
            if not select.select([self.number], [], [], 0)[0]:
                return ""
            data = os.read(self.number, KEYS_BYTES)
        except OSError:
            data = b""
        if not data:
            raise EOFError
        return _SEQUENCE.sub(b"", data).decode("ascii", "ignore")

    def _set(self, attributes: list[Any]) -> None:
        with _held(signal.SIGTTOU):
            termios.tcsetattr(self.number, termios.TCSANOW, attributes)


@contextmanager
def _held(number: signal.Signals) -> Iterator[None]:
    """A signal that does not reach this thread."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
