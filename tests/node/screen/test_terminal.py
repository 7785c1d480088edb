"""The panel in real processes on a pseudo-terminal: keys work, and the terminal is as before however the process ends."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WIDTH = 72
WITHIN_S = 60.0
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")} | {
    "TERM": "xterm"
}
"""A size in the environment, as pytest's workers have, would win over that of the terminal."""

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"


class Showing:
    """A process that shows a panel on a terminal of its own, and this end of that terminal."""

    def __init__(self, process: subprocess.Popen[bytes], near: int, far: int) -> None:
        self.process = process
        self.near = near
        self.far = far
        self.before = termios.tcgetattr(far)
        self.out = b""

    @property
    def is_changed(self) -> bool:
        """Whether keys come one by one now."""
        return bool(termios.tcgetattr(self.far) != self.before)

    def until(self, condition: Any) -> None:
        """Reads what is shown until `condition`."""
        deadline = time.monotonic() + WITHIN_S
        while not condition():
            assert time.monotonic() < deadline, self.out[-2000:].decode(errors="replace")
            self.read()

    def until_shown(self, text: bytes) -> None:
        self.until(lambda: text in self.out)
        self.out = self.out.partition(text)[2]

    def read(self, within_s: float = 0.05) -> None:
        if select.select([self.near], [], [], within_s)[0]:
            self.out += os.read(self.near, 65536)

    def press(self, keys: str) -> None:
        os.write(self.near, keys.encode())

    def end(self) -> int:
        """How the process ended."""
        self.until(lambda: self.process.poll() is not None)
        self.read()
        return self.process.returncode


def own_terminal() -> None:
    """Makes standard input the terminal of a new session, in the child, whose signals are not ignored as ours may be."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def showing(way: str, directory: Path, *more: str, **environment: str) -> Iterator[Showing]:
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.node.screen.showing", way, str(directory), *more],
        stdin=far,
        stdout=far,
        stderr=far,
        preexec_fn=own_terminal,
        env={**ENVIRONMENT, **environment},
    )
    try:
        yield Showing(process, near, far)
    finally:
        process.kill()
        process.wait()
        os.close(near)
        os.close(far)


def test_keys_and_a_terminal_as_before(tmp_path: Path) -> None:
    with showing("runs", tmp_path) as node:
        node.until_shown(b"release r0123")
        node.until(lambda: node.is_changed)
        node.press("?")
        node.until_shown(b"Show this; again: hide it.")
        node.press("l")
        node.until_shown(b"Game 7 finished after 44 plies")
        node.press("\x1b[A")  # an arrow is none of the keys
        node.press("q")
        assert node.end() == 0
        assert not node.is_changed
        assert node.out.rfind(SHOW) > node.out.rfind(HIDE)


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    with showing("runs", tmp_path) as node:
        node.until_shown(b"help")
        node.press("Q")
        assert node.end() == 0
        plain = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", node.out).decode()
        rows = [line for line in re.split(r"[\r\n]+", plain) if line.startswith(("gonode", "credit", "last"))]
        assert [row for row in rows if len(row) > WIDTH] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals(tmp_path: Path, number: signal.Signals) -> None:
    with showing("hangs", tmp_path) as node:
        node.until(lambda: node.is_changed)
        node.process.send_signal(number)
        assert node.end() == (-number if number == signal.SIGQUIT else 0)
        assert not node.is_changed
        assert SHOW in node.out


def test_two_interrupts(tmp_path: Path) -> None:
    with showing("hangs", tmp_path) as node:
        node.until(lambda: node.is_changed)
        node.press("\x03")
        node.until_shown(b"press Ctrl-C again")
        node.press("\x03")
        assert node.end() == 130
        assert not node.is_changed


def test_a_failure(tmp_path: Path) -> None:
    with showing("fails", tmp_path) as node:
        node.until_shown(HIDE)
        assert node.end() == 1
        assert not node.is_changed
        assert b"No space left on device" in node.out


def test_plain_lines_on_a_terminal(tmp_path: Path) -> None:
    for more, environment in ((["plain"], {}), ([], {"TERM": "dumb"})):
        with showing("runs", tmp_path, *more, **environment) as node:
            node.until_shown(b"Game 7 finished")
            node.until_shown(b"Game 7 finished")  # so that signals are taken
            assert not node.is_changed
            node.process.send_signal(signal.SIGINT)
            assert node.end() == 0
            assert b"\x1b" not in node.out
            assert b"\r" not in node.out.replace(b"\r\n", b"")


JOBS = """
import os, signal, subprocess, sys, time
def front(group):
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, group)
node = subprocess.Popen(sys.argv[1:], process_group=0)
front(node.pid)
_, how = os.waitpid(node.pid, os.WUNTRACED)
assert os.WIFSTOPPED(how), how
front(os.getpgrp())
print("STOPPED", flush=True)
sys.stdin.readline()
os.kill(node.pid, signal.SIGCONT)  # as by `bg`
time.sleep(1.5)
print("BEHIND", flush=True)
sys.stdin.readline()
front(node.pid)
_, how = os.waitpid(node.pid, 0)
front(os.getpgrp())
print("ENDED", os.waitstatus_to_exitcode(how), flush=True)
"""


def test_stopped_by_the_terminal_in_the_background_and_back(tmp_path: Path) -> None:
    """A shell's part is played by a small process: Ctrl-Z, `bg`, `fg`."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    command = [sys.executable, "-m", "tests.node.screen.showing", "runs", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", JOBS, *command],
        stdin=far,
        stdout=far,
        stderr=far,
        preexec_fn=own_terminal,
        env=ENVIRONMENT,
    )
    node = Showing(process, near, far)
    try:
        node.until(lambda: node.is_changed)
        node.press("\x1a")
        node.until_shown(b"STOPPED")
        assert not node.is_changed
        node.press("\n")
        node.until_shown(b"BEHIND")
        assert not node.is_changed
        assert HIDE not in node.out
        node.press("\n")
        node.until_shown(HIDE)
        node.until(lambda: node.is_changed)
        node.press("q")
        node.until_shown(b"ENDED 0")
        assert not node.is_changed
    finally:
        process.kill()
        process.wait()
        os.close(near)
        os.close(far)
