"""The lock on a node's directory: two processes never run the same node.

A second node would bind the same port without an error (SO_REUSEPORT) and write the same store. The lock is an fcntl
lock on `lock`, so it goes with its process however that ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from node.disk.files import naming

LOCK_NAME: Final = "lock"


class DirectoryInUse(Exception):
    """Another process runs a node in this directory; the message is one sentence."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Holds the lock of `directory`, which is made when absent; raises DirectoryInUse at once when another has it."""
    directory.mkdir(parents=True, exist_ok=True)
    file = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            pid = os.pread(file, 20, 0).decode("ascii", "replace").strip()
            process = f" (process {pid})" if pid.isdigit() else ""
            raise DirectoryInUse(f"Another gonode process{process} already runs in {directory}.") from error
        with naming(directory / LOCK_NAME):
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(file)
