"""One process that speaks the Go Text Protocol (version 2, draft 2): commands with a deadline each, and its last words.

Whatever the program does (ends, hangs, floods, answers what is no GTP), a command ends by its deadline with an answer or a
`GtpError` of one sentence; the process is of no use after one that is not a `Refused`. It is started in a session of its
own, so that Ctrl-C is not for it, and it is killed with its children; a warden does so where this process was killed.
"""

import contextlib
import os
import re
import selectors
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from node.matches.warden import Warden

MAX_ANSWER_BYTES: Final = 1 << 16
MAX_TEXT: Final = 200
"""Characters of an engine's words in a sentence."""

_KEPT_BYTES: Final = 2000
_READ_BYTES: Final = 1 << 16
_QUIT_S: Final = 1.0
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_ANSWER = re.compile(r"([=?])([0-9]*)(?:\s+(.*))?", re.DOTALL)


class GtpError(Exception):
    """One sentence, without its subject (`did not answer ...`), about an engine that is of no use any more."""


class TimedOut(GtpError):
    """The deadline passed before the answer was there."""


class Refused(GtpError):
    """The engine answered with an error; it can be asked on."""

    def __init__(self, command: str, answer: str) -> None:
        super().__init__(f"refused {shown(command)} ({shown(answer) or 'without a reason'})")


class CannotStart(GtpError):
    """There is no such program, or it may not be started."""


def split_command(text: str) -> list[str]:
    """The words of a command line, by the shell's rules for quotes; raises CannotStart."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise CannotStart(f"cannot be started: its command cannot be read ({error})") from None
    if not words or "\0" in text:
        raise CannotStart("cannot be started: its command is empty or has a null character")
    return words


def shown(text: str) -> str:
    """A program's words as one short line."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= MAX_TEXT else line[:MAX_TEXT] + "..."


class GtpEngine:
    """A running engine; not safe to use from two threads at once, but `kill` may come from any."""

    def __init__(self, words: Sequence[str], deadline_s: float, warden: Warden | None = None) -> None:
        """Starts the program; raises CannotStart."""
        self._deadline_s = deadline_s
        self._warden = warden
        self._number = 0
        self._answer = b""
        self._said: deque[bytes] = deque()
        self._said_bytes = 0
        self._is_killed = False
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotStart(f"cannot be started: {error.strerror or error}") from None
        if warden is not None:
            warden.watch(self._process.pid)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        os.set_blocking(self._stdin.fileno(), False)

    def ask(self, command: str, own_s: float = 0.0) -> str:
        """The engine's answer to one command, without blanks around it; raises GtpError. The deadline begins after `own_s`
        seconds that are the engine's."""
        self._number += 1
        within_s = self._deadline_s + own_s
        end_s = time.monotonic() + within_s
        self._write(command, within_s, end_s)
        status, number, text = self._parse(self._read(command, within_s, end_s), command)
        if number and number != str(self._number):
            raise GtpError(f"answered {shown(command)} with the number {number[:20]} of another command{self._words()}")
        if status == "?":
            raise Refused(command, text)
        return text

    def close(self) -> None:
        """Asks the engine to quit, gives it a second, and ends it."""
        with contextlib.suppress(OSError, ValueError):
            self._stdin.write(b"quit\n")
            self._stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_QUIT_S)
        self.kill()

    def kill(self) -> None:
        """Ends the engine and its children at once; whoever waits for an answer gets a GtpError."""
        if not self._is_killed:  # once: afterwards the number may be another's
            self._is_killed = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            if self._warden is not None:
                self._warden.forget(self._process.pid)
        self._process.wait()

    def release(self) -> None:
        """Closes the pipes of an engine that was ended and that nobody asks any more."""
        for pipe in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                pipe.close()

    def _write(self, command: str, within_s: float, end_s: float) -> None:
        """Sends a command with its number; one that answers without reading fills its pipe in the end."""
        line = f"{self._number} {command}\n".encode()
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._stdin, selectors.EVENT_WRITE)
                while line:
                    if not selector.select(max(0.0, end_s - time.monotonic())):
                        raise TimedOut(f"did not read {shown(command)} within {within_s:g} s{self._words()}")
                    line = line[self._stdin.write(line) or 0 :]
        except (OSError, ValueError):
            raise self._gone(command) from None

    def _read(self, command: str, within_s: float, end_s: float) -> str:
        """The text of the next answer, up to its blank line; what it says on standard error is kept meanwhile."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            selector.register(self._stderr, selectors.EVENT_READ)
            while True:
                text, blank, rest = self._answer.replace(b"\r", b"").lstrip(b"\n").partition(b"\n\n")
                if blank:
                    self._answer = rest
                    return _UNPRINTED.sub("", text.decode("utf-8", "replace"))
                if text[:1] not in (b"", b"=", b"?") and b"\n" in text:  # no blank line may ever come
                    return _UNPRINTED.sub("", text.decode("utf-8", "replace"))
                if len(self._answer) > MAX_ANSWER_BYTES:
                    raise GtpError(f"answered {shown(command)} with more than {MAX_ANSWER_BYTES} bytes{self._words()}")
                left_s = end_s - time.monotonic()
                ready = selector.select(left_s) if left_s > 0 else []
                if not ready:
                    wrote = shown(self._answer.decode("utf-8", "replace"))
                    other = f" but wrote {wrote!r}" if wrote else ""
                    raise TimedOut(f"did not answer {shown(command)} within {within_s:g} s{other}{self._words()}")
                for key, _ in ready:
                    data = os.read(key.fd, _READ_BYTES)
                    if key.fileobj is self._stderr:
                        self._keep(data)
                        if not data:
                            selector.unregister(self._stderr)
                    elif data:
                        self._answer += data
                    else:
                        raise self._gone(command)

    def _parse(self, text: str, command: str) -> tuple[str, str, str]:
        found = _ANSWER.fullmatch(text)
        if found is None:
            raise GtpError(f"answered {shown(command)} with what is not GTP ({shown(text)}){self._words()}")
        return found[1], found[2], (found[3] or "").strip()

    def _gone(self, command: str) -> GtpError:
        """The error for an engine that closed its end of a pipe."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_QUIT_S)
        status = self._process.poll()
        how = "closed its output" if status is None else f"ended ({_status(status)})"
        os.set_blocking(self._stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._stderr.fileno(), _READ_BYTES):
                self._keep(data)
        return GtpError(f"{how} before it answered {shown(command)}{self._words()}")

    def _keep(self, data: bytes) -> None:
        self._said.append(data[-_KEPT_BYTES:])
        self._said_bytes += len(self._said[-1])
        while self._said_bytes - len(self._said[0]) >= _KEPT_BYTES:
            self._said_bytes -= len(self._said.popleft())

    def _words(self) -> str:
        """The last lines of standard error, to end a sentence with."""
        lines = [line for line in b"".join(self._said).decode("utf-8", "replace").splitlines() if line.strip()]
        return f"; it said: {shown(' / '.join(lines[-3:])).rstrip('.')}" if lines else ""


def _status(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
