"""A blob that is being put together in a file, chunk by chunk, and served meanwhile.

Spec: docs/spec/swarm.md ("Fetching"). The file lies in `public.partial/` under the blob's digest. Chunks are hashed before
they are written, when the file is opened again, and before they are given to others: a damaged file loses chunks, no more.
"""

import os

import trio

from node.blobs.work import Work, here
from node.disk.blob_store import BlobStore
from protocol.blob import CHUNK_BYTES, ChunkList
from protocol.errors import BadDigest, ProtocolError


class Part:
    """The unfinished blob of a chunk list; `missing` are the chunks that are not in the file."""

    def __init__(self, store: BlobStore, chunks: ChunkList, work: Work = here) -> None:
        self.digest = chunks.digest
        self.chunks = chunks
        self.missing = set(range(len(chunks.hashes)))
        self._store = store
        self._work = work
        self._path = store.partial_path(self.digest, "part")
        self._changed = trio.Event()

    @property
    def held(self) -> frozenset[int]:
        """The chunks in the file."""
        return frozenset(range(len(self.chunks.hashes))) - self.missing

    @property
    def held_bytes(self) -> int:
        """How much of the blob is in the file."""
        return self.chunks.length - sum(map(self.chunks.chunk_bytes, self.missing))

    async def open(self) -> None:
        """Finds out which chunks an earlier fetch left whole; raises OSError."""
        self.missing = await self._work(self._scan)
        self._tell()

    async def write(self, index: int, chunk: bytes) -> None:
        """Checks and keeps a chunk; raises BadDigest for a wrong one, OSError."""
        await self._work(self._write, index, chunk)
        self.missing.discard(index)
        self._tell()

    async def read(self, index: int) -> bytes | None:
        """A chunk, checked; None when it is not here or was damaged, which makes it missing again."""
        if index in self.missing:
            return None
        try:
            return await self._work(self._read, index)
        except (ProtocolError, OSError):
            if not self._store.has(self.digest):
                self.missing.add(index)
                self._tell()
            return None

    async def wait_change(self, most_s: float) -> None:
        """Returns after the next change of `missing`, or after `most_s`."""
        with trio.move_on_after(most_s):
            await self._changed.wait()

    async def finish(self) -> None:
        """Makes the whole file the blob, durably; raises OSError."""
        await self._work(self._finish)

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def _scan(self) -> set[int]:
        missing = set()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch()
        with self._path.open("rb") as file:
            for index in range(len(self.chunks.hashes)):
                try:
                    self.chunks.verify_chunk(index, file.read(self.chunks.chunk_bytes(index)))
                except ProtocolError:
                    missing.add(index)
                    file.seek((index + 1) * CHUNK_BYTES)
        return missing

    def _write(self, index: int, chunk: bytes) -> None:
        self.chunks.verify_chunk(index, chunk)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            if os.pwrite(descriptor, chunk, index * CHUNK_BYTES) != len(chunk):
                raise OSError(f"{self._path} took only a part of a chunk")
        finally:
            os.close(descriptor)

    def _read(self, index: int) -> bytes:
        size = self.chunks.chunk_bytes(index)
        with self._path.open("rb") as file:
            chunk = os.pread(file.fileno(), size, index * CHUNK_BYTES)
        if len(chunk) != size:
            raise BadDigest(f"Chunk {index} is cut short on this disk.")
        self.chunks.verify_chunk(index, chunk)
        return chunk

    def _finish(self) -> None:
        os.truncate(self._path, self.chunks.length)
        self._store.adopt(self.digest, self._path)
        self._store.partial_path(self.digest, "list").unlink(missing_ok=True)
