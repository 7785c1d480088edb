"""What comes in: lines of a stream, read by a thread of its own, so that one can look whether more input waits.

Invariant: no more than MOST_WAITING lines are held, each cut where it is longer than the protocol's reader takes.
"""

import threading
from collections import deque
from typing import BinaryIO, Final

from node.gtp.line import MAX_BYTES

MOST_WAITING: Final = 256
_CUT: Final = MAX_BYTES + 64


class Feed:
    """The lines of a binary stream, in order."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: deque[bytes] = deque()
        self._is_over = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name="gtp-input", daemon=True).start()

    def take(self) -> bytes | None:
        """The next line as soon as there is one; None when the stream is over."""
        with self._changed:
            self._changed.wait_for(self._has_input)
            if not self._lines:
                return None
            line = self._lines.popleft()
            self._changed.notify_all()
            return line

    def waits(self, timeout_s: float | None) -> bool:
        """Whether a line, or the end of the stream, is there within the time; None waits for it."""
        with self._changed:
            return self._changed.wait_for(self._has_input, timeout_s)

    def _has_input(self) -> bool:
        return bool(self._lines) or self._is_over

    def _read(self) -> None:
        try:
            while line := self._line():
                with self._changed:
                    self._changed.wait_for(lambda: len(self._lines) < MOST_WAITING)
                    self._lines.append(line)
                    self._changed.notify_all()
        except (OSError, ValueError):  # closed under its reader: as if it were over
            pass
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()

    def _line(self) -> bytes:
        """One line, its end cut off where it is too long; b"" at the end of the stream."""
        line = self._stream.readline(_CUT)
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(_CUT)
        return line
