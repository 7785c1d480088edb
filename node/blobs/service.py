"""The exchange of blobs: `/gonode/blob/1` serves chunks, `fetch` takes them from several peers at once.

Spec: docs/spec/wire.md ("Blobs"). One call answers with a blob's chunk list, another with one chunk. Each
chunk is checked when it arrives and kept on disk, so a fetch goes on where it stopped. A peer that gives wrong bytes is
dropped and not asked again; the others finish.
"""

import logging
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Final

import trio

from node.disk.blob_store import BlobStore
from node.disk.files import write_file
from node.peering.call import CallRefused, call, serve_calls
from node.peering.transport import Timeout, TooMuch, Transport, TransportError, Unreachable, short
from protocol import codec
from protocol.blob import CHUNK_BYTES, ChunkList
from protocol.errors import ProtocolError

log = logging.getLogger("gonode.net")

BLOB_PROTOCOL: Final = "/gonode/blob/1"
MAX_BLOB: Final = 256 << 20
"""The most bytes of a blob that is fetched unless a caller says otherwise."""

_LIST_BYTES: Final = 8 + 32 * 4096
_CALL_S: Final = 20
_STRIKES: Final = 2
_CALLS_PER_PEER: Final = 2
_PATIENCE_S: Final = 2.0
_KNOWN_LISTS: Final = 256


class BlobService:
    """Serves the blobs of `store` to peers from when it is made, and fetches others into it."""

    def __init__(self, transport: Transport, store: BlobStore) -> None:
        self.store = store
        self.liars: set[bytes] = set()
        self._transport = transport
        self._lists: OrderedDict[bytes, ChunkList] = OrderedDict()
        self._running: dict[bytes, trio.Lock] = {}
        serve_calls(transport, BLOB_PROTOCOL, self._answer, max_bytes=256)

    async def fetch(
        self, digest: bytes, peers: Sequence[bytes], max_bytes: int = MAX_BLOB, timeout_s: float = 300
    ) -> bytes:
        """The blob `digest`, from the store or else from `peers`, who are asked in this order and then all at once.

        Raises TooMuch when the blob is over `max_bytes`, Unreachable when no peer has all of it, Timeout.
        """
        lock = self._running.setdefault(digest, trio.Lock())
        try:
            with trio.fail_after(timeout_s):
                async with lock:
                    blob = self.store.get(digest)
                    if blob is None:
                        await self._fetch(digest, peers, max_bytes)
                        blob = self.store.get(digest)
        except trio.TooSlowError as error:
            raise Timeout(f"Blob {short(digest)} did not come within {timeout_s:g} s.") from error
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._running.pop(digest, None)
        if blob is None:
            raise Unreachable(f"Blob {short(digest)} came whole but the disk does not hold it so.")
        if len(blob) > max_bytes:
            raise TooMuch(f"Blob {short(digest)} has {len(blob)} bytes; the limit here is {max_bytes}.")
        return blob

    async def _fetch(self, digest: bytes, peers: Sequence[bytes], max_bytes: int) -> None:
        peers = [peer for peer in dict.fromkeys(peers) if peer not in self.liars and peer != self._transport.key]
        chunks, first = await self._chunk_list(digest, peers, max_bytes)
        part = _Part(self.store, digest, chunks)
        order = [*peers[first:], *peers[:first]]
        async with trio.open_nursery() as nursery:
            for peer in order:
                strikes: Counter[bytes] = Counter()
                for _ in range(_CALLS_PER_PEER):
                    nursery.start_soon(self._take_chunks, part, peer, strikes)
        if part.missing:
            raise Unreachable(
                f"No peer has all of blob {short(digest)}: {len(part.missing)} of {len(chunks.hashes)} chunks are missing."
            )
        part.finish()

    async def _chunk_list(self, digest: bytes, peers: Sequence[bytes], max_bytes: int) -> tuple[ChunkList, int]:
        """The chunk list, and the place in `peers` of the first peer that has the blob (0 if nobody was asked)."""
        path = self.store.partial_path(digest, "list")
        chunks: ChunkList | None = None
        asked = 0
        if path.is_file():
            try:
                chunks = ChunkList.parse(path.read_bytes(), digest)
            except ProtocolError:
                path.unlink()
        while chunks is None and asked < len(peers):
            peer = peers[asked]
            try:
                request = codec.encode({"digest": digest, "op": "list"})
                answer = await self._call(peer, request, _LIST_BYTES)
                chunks = ChunkList.parse(answer, digest)
            except ProtocolError as error:
                self._distrust(peer, error)
                asked += 1
            except (CallRefused, TransportError) as error:
                log.debug("no list of blob %s from %s: %s", short(digest), short(peer), error)
                asked += 1
        if chunks is None:
            raise Unreachable(f"None of {len(peers)} peers has blob {short(digest)}.")
        if chunks.length > max_bytes:
            raise TooMuch(f"Blob {short(digest)} has {chunks.length} bytes; the limit here is {max_bytes}.")
        if not path.is_file():
            write_file(path, chunks.encode())
        return chunks, asked

    async def _take_chunks(self, part: "_Part", peer: bytes, strikes: Counter[bytes]) -> None:
        while part.missing and peer not in self.liars and strikes[peer] < _STRIKES:
            index = part.next_for(peer)
            if index is None:
                await part.wait_change(_PATIENCE_S / 4)
                continue
            try:
                request = codec.encode({"digest": part.digest, "index": index, "op": "chunk"})
                chunk = await self._call(peer, request, CHUNK_BYTES)
                part.chunks.verify_chunk(index, chunk)
            except ProtocolError as error:
                self._distrust(peer, error)
            except CallRefused:
                strikes[peer] = _STRIKES
            except TransportError as error:
                log.debug("no chunk %d of blob %s from %s: %s", index, short(part.digest), short(peer), error)
                strikes[peer] += 1
            else:
                part.write(index, chunk)
            finally:
                part.release(index, peer)

    async def _call(self, peer: bytes, request: bytes, max_bytes: int) -> bytes:
        return await call(self._transport, peer, BLOB_PROTOCOL, request, timeout_s=_CALL_S, max_bytes=max_bytes)

    def _distrust(self, peer: bytes, error: Exception) -> None:
        log.warning("peer %s served wrong bytes and is not asked again: %s", short(peer), error)
        self.liars.add(peer)

    async def _answer(self, peer: bytes, request: bytes) -> bytes:
        match codec.decode(request, 256):
            case {"op": "list", "digest": bytes(digest), **rest} if not rest and len(digest) == 32:
                return self._require(digest).encode()
            case {"op": "chunk", "digest": bytes(digest), "index": int(index), **rest} if (
                not rest and len(digest) == 32 and not isinstance(index, bool)
            ):
                chunks = self._require(digest)
                chunk = self.store.chunk(digest, index) if 0 <= index < len(chunks.hashes) else None
                if chunk is None:
                    raise CallRefused(f"There is no chunk {index} of blob {short(digest)} here.")
                try:
                    chunks.verify_chunk(index, chunk)
                except ProtocolError:
                    self.store.set_aside(digest)
                    raise CallRefused(f"Blob {short(digest)} is damaged here.") from None
                return chunk
        raise CallRefused("This is not a request for a blob's list or chunk.")

    def _require(self, digest: bytes) -> ChunkList:
        """The chunk list of a blob in the store; raises CallRefused without the blob."""
        chunks = self._lists.get(digest)
        if chunks is None or not self.store.has(digest):
            chunks = self.store.chunks(digest)
            if chunks is None:
                self._lists.pop(digest, None)
                raise CallRefused(f"Blob {short(digest)} is not here.")
            self._lists[digest] = chunks
            if len(self._lists) > _KNOWN_LISTS:
                self._lists.popitem(last=False)
        self._lists.move_to_end(digest)
        return chunks


class _Part:
    """A blob that is being put together in a file, chunk by chunk."""

    def __init__(self, store: BlobStore, digest: bytes, chunks: ChunkList) -> None:
        self.digest = digest
        self.chunks = chunks
        self.missing: set[int] = set()
        self._store = store
        self._held: dict[int, dict[bytes, float]] = {}
        self._changed = trio.Event()
        self._path = store.partial_path(digest, "part")
        self._path.touch()
        with self._path.open("rb") as file:
            for index in range(len(chunks.hashes)):
                try:
                    chunks.verify_chunk(index, file.read(chunks.chunk_bytes(index)))
                except ProtocolError:
                    self.missing.add(index)

    def next_for(self, peer: bytes) -> int | None:
        """A missing chunk that nobody fetches, or that one other peer has been fetching for long; None if there is none."""
        late = trio.current_time() - _PATIENCE_S
        for index in sorted(self.missing, key=lambda index: (len(self._held.get(index, ())), index)):
            held = self._held.setdefault(index, {})
            if not held or (len(held) == 1 and peer not in held and min(held.values()) < late):
                held[peer] = trio.current_time()
                return index
        return None

    def write(self, index: int, chunk: bytes) -> None:
        """Keeps a chunk that was checked."""
        with self._path.open("r+b") as file:
            file.seek(index * CHUNK_BYTES)
            file.write(chunk)
        self.missing.discard(index)

    def release(self, index: int, peer: bytes) -> None:
        """Ends what `next_for` began."""
        self._held.get(index, {}).pop(peer, None)
        self._changed.set()
        self._changed = trio.Event()

    async def wait_change(self, most_s: float) -> None:
        """Returns after the next release, or after `most_s`."""
        with trio.move_on_after(most_s):
            await self._changed.wait()

    def finish(self) -> None:
        """Makes the whole file the blob."""
        with self._path.open("r+b") as file:
            file.truncate(self.chunks.length)
        self._store.adopt(self.digest, self._path)
        self._store.partial_path(self.digest, "list").unlink(missing_ok=True)
