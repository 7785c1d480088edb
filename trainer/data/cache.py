"""The folder in which a trainer keeps packed rows between cycles, while it is in use: `RowsCache`.

Spec: docs/spec/rows.md ("File"). Whoever has a window open holds a shared lock on the folder; files are removed by one that
holds it alone. So no job removes what another one, or another process of its own, has looked up and is about to map.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from collections.abc import Iterable
from pathlib import Path

from trainer.data.rows_file import SUFFIX
from trainer.files import PART


class RowsCache:
    """A folder, made when missing, whose files stay while this is there."""

    def __init__(self, folder: Path, wanted: Iterable[Path]) -> None:
        """If nobody else uses the folder, removes the rows of batches that are not `wanted`, and what killed processes
        left half-written. Raises OSError, also where folders cannot be locked."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        lock = os.open(folder, os.O_RDONLY)
        weakref.finalize(self, os.close, lock)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._prune({path.name for path in wanted})
        fcntl.flock(lock, fcntl.LOCK_SH)

    def _prune(self, wanted: set[str]) -> None:
        for path in self.folder.iterdir():
            if path.suffix == PART or (path.suffix == SUFFIX and path.name not in wanted):
                with contextlib.suppress(OSError):
                    path.unlink()
