"""What the parts of an audit share: the folder they read, how they say what is wrong, and how far they are.

Spec: `docs/spec/audit.md`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from protocol.blob import verify_blob
from protocol.errors import BadDigest
from protocol.layout import blob_path


class AuditFault(Exception):
    """The answer to a check is no; the message says why, naming the file, entry, batch or game."""


@dataclass(frozen=True, slots=True)
class Check:
    """One answer of an audit; `ok` is None for a check that was not run."""

    name: str
    ok: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check is: `done` of `total` things of a kind, such as entries, files, batches or games."""

    check: str
    kind: str
    done: int
    total: int


Tell = Callable[[Progress], None]
"""Hears how far an audit is, often."""


class Reader(Protocol):
    """A run's public folder, wherever it lies; paths are those of `protocol.layout` and `protocol.tiles`."""

    def read(self, path: str) -> bytes | None:
        """A file's bytes, or None if there is no such file."""
        ...

    def list(self, prefix: str) -> Iterable[str]:
        """The paths of all files that start with `prefix`; the empty prefix lists everything."""
        ...


class Folder:
    """A reader with the reads that checks need; `check` is the one that is being answered, of which `tell` hears."""

    def __init__(self, reader: Reader, tell: Tell | None = None) -> None:
        self.check = ""
        self._reader = reader
        self._tell = tell

    def step(self, kind: str, done: int, total: int) -> None:
        """Says that `done` of `total` things of a kind are checked."""
        if self._tell is not None:
            self._tell(Progress(self.check, kind, done, total))

    def paths(self) -> list[str]:
        """All files, sorted."""
        return sorted(self._reader.list(""))

    def find(self, path: str) -> bytes | None:
        """A file's bytes, or None."""
        return self._reader.read(path)

    def read(self, path: str) -> bytes:
        """A file's bytes; AuditFault if it is missing."""
        data = self._reader.read(path)
        if data is None:
            raise AuditFault(f"File {path} is missing.")
        return data

    def blob(self, digest: bytes, what: str) -> bytes:
        """A blob's bytes, hashed; AuditFault if it is missing or wrong."""
        path = blob_path(digest)
        data = self._reader.read(path)
        if data is None:
            raise AuditFault(f"File {path}, {what}, is missing.")
        try:
            verify_blob(data, digest)
        except BadDigest as error:
            raise AuditFault(f"File {path}, {what}, does not have the content that its name says.") from error
        return data
