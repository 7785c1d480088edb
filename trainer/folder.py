"""The folder of a cycle's files, in which one training works at a time: `held`.

Spec: docs/spec/train-state.md ("Files"). The lock is the system's on the folder itself and goes with its process however
that ends: the trainer of a coordinator that was killed may still be at work when the next one starts.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from trainer.errors import BadJob, Interrupted
from trainer.learning.group import Group

AGAIN_S: Final = 0.2


@contextmanager
def held(folder: Path, group: Group, is_stopping: Callable[[], bool], tell: Callable[[str], None]) -> Iterator[None]:
    """Makes the folder, waits while another training has it (`tell` says so once), and has it while the block runs.

    Every process of `group` comes here, the first one has the lock. A disk that knows no locks is written to without.
    Raises BadJob, Interrupted.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise BadJob(f"The folder {folder} cannot be made: {error.strerror}.") from error
    try:
        is_told = False
        while group.is_any(group.is_first and not _is_locked(lock)):
            if group.is_any(is_stopping()):
                raise Interrupted("Interrupted while another training was at work; the same job goes on.")
            if not is_told:
                tell(f"Another training is at work in {folder}; this one begins when that has ended.")
                is_told = True
            time.sleep(AGAIN_S)
        yield
    finally:
        os.close(lock)


def _is_locked(lock: int) -> bool:
    """Whether the lock is ours now, or no lock is to be had on this disk."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
