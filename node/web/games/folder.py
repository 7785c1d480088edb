"""Which blobs are here: `BlobFolders`, which looks at a folder again only when something in it changed.

Spec: docs/spec/layout.md. Blobs lie in 256 folders by the first byte of their digest; a file that comes or goes changes its
folder's time.
"""

import time
from pathlib import Path
from typing import Final

from protocol.layout import BLOBS, blob_path

_FOLDERS: Final = 256
_SURE_NS: Final = 2_000_000_000
"""A folder that changed so lately may change again within one tick of its file system's clock."""


class BlobFolders:
    """The blobs below a public folder."""

    def __init__(self, public: Path) -> None:
        self._public = public
        self._seen: dict[int, int | None] = {}
        self._next = 0

    def has(self, digest: bytes) -> bool:
        """Whether there is a file with this name now."""
        return (self._public / blob_path(digest)).is_file()

    def changed(self, most: int) -> list[tuple[int, frozenset[bytes]]]:
        """Folders, `most` of them, that are new or changed since they were last given, by first byte, and what is there."""
        found: list[tuple[int, frozenset[bytes]]] = []
        for first in ((self._next + step) % _FOLDERS for step in range(_FOLDERS)):
            changed_ns = self._time(first)
            if first in self._seen and self._seen[first] == changed_ns:
                continue
            if len(found) == most:
                self._next = first
                break
            is_sure = changed_ns is None or abs(time.time_ns() - changed_ns) > _SURE_NS
            found.append((first, self._names(first)))
            if is_sure:
                self._seen[first] = changed_ns
            else:
                self._seen.pop(first, None)
        return found

    def _folder(self, first: int) -> Path:
        return self._public / BLOBS / f"{first:02x}"

    def _time(self, first: int) -> int | None:
        try:
            return self._folder(first).stat().st_mtime_ns
        except OSError:
            return None

    def _names(self, first: int) -> frozenset[bytes]:
        found = set()
        try:
            for path in self._folder(first).iterdir():
                if len(path.name) == 64 and not set(path.name) - set("0123456789abcdef"):
                    found.add(bytes.fromhex(path.name))
        except OSError:
            return frozenset()
        return frozenset(found)
