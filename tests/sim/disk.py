"""The disks of a simulation: every write of a node can be its last, and what lies on disk at that moment is what remains.

A write is a statement that changes the store, or a file that is renamed to its name; the kill comes before it. Nothing is
synchronised to the real disk, which a kill of a process does not need.
"""

import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

CHANGES = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT")
SQLITE_SAYS = {
    errno.ENOSPC: "database or disk is full",
    errno.EROFS: "attempt to write a readonly database",
    errno.EIO: "disk I/O error",
}
LINKED = "public"
LEFT_OUT = ("lock", "node.db-shm")


class Killed(BaseException):
    """Raised in a node at the write that it did not live to make."""


@contextmanager
def watched_disks(before_write: Callable[[Path], None]) -> Iterator[None]:
    """Calls `before_write` with the path of each file that is to be changed; it may raise Killed, or an OSError."""
    connect, replace = sqlite3.connect, os.replace

    class Connection(sqlite3.Connection):
        path: Path

        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql.startswith("PRAGMA synchronous"):
                sql = "PRAGMA synchronous = OFF"
            if sql.startswith(CHANGES):
                self._before_write()
            return super().execute(sql, *parameters)

        def executemany(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            self._before_write()
            return super().executemany(sql, *parameters)

        def _before_write(self) -> None:
            try:
                before_write(self.path)
            except OSError as error:
                raise sqlite3.OperationalError(SQLITE_SAYS[error.errno or 0]) from error

    def connect_watched(path: Path, **options: Any) -> Connection:
        connection = connect(path, factory=Connection, **options)
        connection.path = Path(path)
        return connection

    def replace_watched(source: Path | str, target: Path | str) -> None:
        before_write(Path(target))
        replace(source, target)

    with (
        patch.object(sqlite3, "connect", connect_watched),
        patch.object(os, "replace", replace_watched),
        patch.object(os, "fsync", lambda descriptor: None),
    ):
        yield


def snapshot(source: Path, target: Path) -> None:
    """Copies a node's directory as it lies on disk; public files, which are never changed in place, by links."""
    for folder, _, files in os.walk(source):
        at = Path(folder).relative_to(source)
        (target / at).mkdir(parents=True, exist_ok=True)
        link = at.parts[:1] == (LINKED,)
        for name in files:
            if at.parts or name not in LEFT_OUT:
                (os.link if link else shutil.copy2)(Path(folder) / name, target / at / name)
