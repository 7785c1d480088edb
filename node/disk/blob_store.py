"""Content-addressed files: each blob under its blob digest in the public folder.

Spec: docs/spec/blob.md, docs/spec/layout.md. A blob is written under a temporary name, synchronised and renamed, so a
file under a digest is whole; it is hashed again on each read, and a damaged one is set aside and reported as missing.
Temporary, partial and damaged files lie in the sibling folder `<public>.partial`: the public one holds whole blobs only.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from node.disk.files import move_file, write_file
from protocol.blob import CHUNK_BYTES, BlobHasher, ChunkList, blob_digest
from protocol.layout import BLOBS, blob_path

_USED_AGAIN_S = 3600


class BlobStore:
    """The blobs below `directory`, a run's public folder; `now_unix_s` is the wall clock, for when they were used."""

    def __init__(self, directory: Path, now_unix_s: Callable[[], float] = time.time) -> None:
        self.directory = directory
        self._now_unix_s = now_unix_s
        self.partial = directory.with_name(directory.name + ".partial")

    def path(self, digest: bytes) -> Path:
        """Where the blob with this digest lies, if it is here."""
        return self.directory / blob_path(digest)

    def partial_path(self, digest: bytes, suffix: str) -> Path:
        """Where a file about an unfinished or damaged blob lies."""
        return self.partial / f"{digest.hex()}.{suffix}"

    def has(self, digest: bytes) -> bool:
        """Whether there is a file for this digest (not hashed)."""
        return self.path(digest).is_file()

    def get(self, digest: bytes) -> bytes | None:
        """The blob, its hash checked; None when it is missing or was found damaged."""
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        if blob_digest(data) != digest:
            self.set_aside(digest)
            return None
        self._use(path)
        return data

    def chunks(self, digest: bytes) -> ChunkList | None:
        """The chunk list of a blob, its hash checked; None when it is missing or was found damaged."""
        hasher = BlobHasher()
        try:
            with self.path(digest).open("rb") as file:
                while piece := file.read(CHUNK_BYTES):
                    hasher.update(piece)
        except FileNotFoundError:
            return None
        if hasher.digest() != digest:
            self.set_aside(digest)
            return None
        return hasher.chunks()

    def chunk(self, digest: bytes, index: int) -> bytes | None:
        """The bytes of one chunk as they lie on disk, not hashed; None when the blob is missing."""
        try:
            with self.path(digest).open("rb") as file:
                if index == 0:
                    self._use(self.path(digest))
                file.seek(index * CHUNK_BYTES)
                return file.read(CHUNK_BYTES)
        except FileNotFoundError:
            return None

    def set_aside(self, digest: bytes) -> None:
        """Moves a damaged blob out of the public folder, so that it counts as missing."""
        self.partial.mkdir(parents=True, exist_ok=True)
        self.path(digest).replace(self.partial_path(digest, "damaged"))

    def put(self, data: bytes) -> bytes:
        """Keeps a blob; returns its digest once it is durable."""
        digest = blob_digest(data)
        path = self.path(digest)
        if not path.is_file():
            write_file(path, data, temporary=self.partial_path(digest, f"{os.getpid()}.tmp"))
        return digest

    def adopt(self, digest: bytes, file: Path) -> None:
        """Makes a file that is known to hold the blob `digest` (chunk by chunk) that blob, durably."""
        move_file(file, self.path(digest))

    def delete(self, digest: bytes) -> None:
        """Removes the blob, if it is here."""
        self.path(digest).unlink(missing_ok=True)

    def sizes(self) -> Iterator[tuple[bytes, int, float]]:
        """Each blob's digest, its bytes, and when it was used, in seconds since 1970, to the hour."""
        for digest in self.digests():
            try:
                found = self.path(digest).stat()
            except FileNotFoundError:
                continue
            yield digest, found.st_size, found.st_mtime

    def _use(self, path: Path) -> None:
        """Notes that a blob is used: in its file's time, which nothing else needs."""
        now = self._now_unix_s()
        try:
            if abs(now - path.stat().st_mtime) > _USED_AGAIN_S:
                os.utime(path, (now, now))
        except OSError:
            return  # it is deleted, or the disk takes no writes: it only looks older

    def digests(self) -> Iterator[bytes]:
        """The digests of all blobs here, in order."""
        for path in sorted((self.directory / BLOBS).glob("*/*")):
            name = path.name
            if len(name) == 64 and path.parent.name == name[:2] and path.is_file():
                try:
                    yield bytes.fromhex(name)
                except ValueError:
                    continue
