"""Blobs: named by a digest over the hashes of their 1 MiB chunks, so that a liar is known at the first chunk.

Spec: docs/spec/blob.md. The digest is SHA-256("gonode/blob/v1\\0" | u64 length | chunk hashes); the chunk list, checked
against it, lets pieces come from several peers at once.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from protocol.errors import BadDigest, ParseError, TooLarge

CHUNK_BYTES: Final = 1024 * 1024
MAX_BYTES: Final = 4 * 1024 * 1024 * 1024
_DOMAIN: Final = b"gonode/blob/v1\0"
_HASH_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class ChunkList:
    """A blob's length in bytes and the SHA-256 of each of its chunks; only the last one may be short."""

    length: int
    hashes: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.length <= MAX_BYTES:
            raise TooLarge(f"A blob has at most {MAX_BYTES} bytes.")
        if len(self.hashes) != -(-self.length // CHUNK_BYTES):
            raise ParseError(f"A blob of {self.length} bytes does not have {len(self.hashes)} chunks.")
        if any(len(each) != _HASH_BYTES for each in self.hashes):
            raise ParseError("A chunk's hash has 32 bytes.")

    @classmethod
    def parse(cls, data: bytes, digest: bytes) -> Self:
        """The chunk list in `data` of the blob named `digest`; raises ParseError, TooLarge or BadDigest."""
        count, rest = divmod(len(data) - 8, _HASH_BYTES)
        if count < 0 or rest:
            raise ParseError("A chunk list is a length and hashes of 32 bytes.")
        hashes = tuple(data[8 + i * _HASH_BYTES : 8 + (i + 1) * _HASH_BYTES] for i in range(count))
        chunks = cls(int.from_bytes(data[:8], "little"), hashes)
        if chunks.digest != digest:
            raise BadDigest(f"The chunk list is not that of blob {digest.hex()[:16]}.")
        return chunks

    def encode(self) -> bytes:
        """The length as u64 and the hashes."""
        return self.length.to_bytes(8, "little") + b"".join(self.hashes)

    @property
    def digest(self) -> bytes:
        """The blob's digest."""
        return sha256(_DOMAIN + self.encode()).digest()

    def chunk_bytes(self, index: int) -> int:
        """The length of chunk `index`; IndexError if there is none."""
        if not 0 <= index < len(self.hashes):
            raise IndexError(f"the blob has {len(self.hashes)} chunks, not one numbered {index}")
        return min(CHUNK_BYTES, self.length - index * CHUNK_BYTES)

    def verify_chunk(self, index: int, chunk: bytes) -> None:
        """Raises BadDigest unless `chunk` is chunk `index` of the blob."""
        if not 0 <= index < len(self.hashes):
            raise BadDigest(f"The blob has no chunk {index}.")
        if len(chunk) != self.chunk_bytes(index) or sha256(chunk).digest() != self.hashes[index]:
            raise BadDigest(f"Chunk {index} is not the blob's.")


class BlobHasher:
    """Hashes a blob that comes in pieces of any length."""

    __slots__ = ("_chunk", "_hashes", "_length", "_room")

    def __init__(self) -> None:
        self._hashes: list[bytes] = []
        self._length = 0
        self._chunk = sha256()
        self._room = CHUNK_BYTES

    def update(self, data: bytes) -> None:
        """Adds the next bytes; raises TooLarge past 4 GiB."""
        if self._length + len(data) > MAX_BYTES:
            raise TooLarge(f"A blob has at most {MAX_BYTES} bytes.")
        self._length += len(data)
        view = memoryview(data)
        while view:
            part, view = view[: self._room], view[self._room :]
            self._chunk.update(part)
            self._room -= len(part)
            if self._room == 0:
                self._hashes.append(self._chunk.digest())
                self._chunk, self._room = sha256(), CHUNK_BYTES

    def chunks(self) -> ChunkList:
        """The chunk list of what was added so far."""
        last = [self._chunk.digest()] if self._room < CHUNK_BYTES else []
        return ChunkList(self._length, (*self._hashes, *last))

    def digest(self) -> bytes:
        """The digest of what was added so far."""
        return self.chunks().digest


def chunk_list(data: bytes) -> ChunkList:
    """The chunk list of a whole blob."""
    hasher = BlobHasher()
    hasher.update(data)
    return hasher.chunks()


def blob_digest(data: bytes) -> bytes:
    """The digest of a whole blob."""
    return chunk_list(data).digest


def verify_blob(data: bytes, digest: bytes) -> None:
    """Raises BadDigest unless `data` is the blob named `digest`."""
    if len(data) > MAX_BYTES or blob_digest(data) != digest:
        raise BadDigest(f"The bytes are not blob {digest.hex()[:16]}.")
