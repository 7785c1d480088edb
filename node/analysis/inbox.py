"""What comes in: lines of a stream, read by a thread of its own, so that whoever takes them can be called away.

Invariant: no more than MOST_WAITING lines are held, each cut where it is longer than a query may be.
"""

import threading
from collections import deque
from typing import BinaryIO, Final

from node.analysis.line import MOST_BYTES

MOST_WAITING: Final = 16
_CUT: Final = MOST_BYTES + 64


class Inbox:
    """The lines of a binary stream, in order, until it ends or somebody stops it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: deque[bytes] = deque()
        self._is_over = False
        self._fault: BaseException | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name="analysis-input", daemon=True).start()

    def take(self) -> bytes | None:
        """The next line as soon as there is one, None at the end; raises what `stop` was called with."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._is_over or self._fault)
            self.verify()
            if not self._lines:
                return None
            line = self._lines.popleft()
            self._changed.notify_all()
            return line

    def stop(self, fault: BaseException) -> None:
        """Nothing more is to be taken, because of that."""
        with self._changed:
            self._fault = self._fault or fault
            self._changed.notify_all()

    def verify(self) -> None:
        """Raises what `stop` was called with, if it was."""
        if self._fault is not None:
            raise self._fault

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
