"""The private folder in which the processes of a group meet on one machine: `meeting_place`, `stay`.

Spec: docs/spec/train-state.md ("More processes"). Its maker and all who meet hold a shared lock on it while they live. The
next one to be made removes those that nobody holds: a launcher that is killed leaves its own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "gonode-group-"


@contextmanager
def meeting_place() -> Iterator[Path]:
    """A new folder that others cannot read, removed in the end."""
    for left in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        _remove_unless_held(left)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # another one that is made now took it for left over
            lock = stay(folder)
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def stay(folder: Path) -> int:
    """Holds a folder until this process ends, or closes the descriptor; raises FileNotFoundError where it is gone."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with suppress(OSError):  # a disk that knows no locks
        fcntl.flock(lock, fcntl.LOCK_SH)
    if not folder.exists():
        os.close(lock)
        raise FileNotFoundError(f"{folder} was removed.")
    return lock


def _remove_unless_held(folder: Path) -> None:
    with suppress(OSError):  # it is held, somebody else's, no folder, or gone
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
        finally:
            os.close(lock)
