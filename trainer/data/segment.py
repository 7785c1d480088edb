"""Files with packed games, mapped and not read: `Segment`, and `Scratch` for what is kept nowhere else.

A segment has a path, or the descriptor of a file without a name, which a process that it is passed to maps as well. What is
mapped takes memory only as far as it is looked at. A file without a name is gone with the last process that has it open.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path

from trainer.errors import BadRows


@dataclass(frozen=True, slots=True)
class Segment:
    """The first `length` bytes of a file; maybe none."""

    source: Path | int
    length: int

    def map(self) -> mmap.mmap | bytes:
        """Its bytes, to be read; raises BadRows when the file is not there or shorter."""
        if not self.length:
            return b""
        try:
            number = self.source if isinstance(self.source, int) else os.open(self.source, os.O_RDONLY)
        except OSError as error:
            raise BadRows(f"The rows {self.source} cannot be read: {error.strerror}.") from error
        try:
            return mmap.mmap(number, self.length, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BadRows(f"The rows {self.source} cannot be mapped: {error}.") from error
        finally:
            if number != self.source:
                os.close(number)


class Scratch:
    """A file without a name that is written from its start; `segment` is what was written. Closed when it is forgotten."""

    def __init__(self, folder: Path | None = None) -> None:
        """In `folder`, else where temporary files lie."""
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed at the end of this
        self._length = 0
        weakref.finalize(self, self._file.close)

    def add(self, data: bytes) -> int:
        """Appends; gives where. Nothing waits in a buffer for a disk that may be full when this is closed."""
        at, self._length = self._length, self._length + len(data)
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        return at

    def segment(self) -> Segment:
        """What was written, good as long as this lives."""
        return Segment(self._file.fileno(), self._length)
