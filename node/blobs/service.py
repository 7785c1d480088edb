"""The exchange of blobs: `/gonode/blob/1` serves what is on this disk, whole or not; `fetch` takes blobs from many peers.

Spec: docs/spec/wire.md ("Blobs"), docs/spec/swarm.md ("Fetching"). What is served is hashed before it leaves, so a damaged
disk makes no liar. Chunks leave through few slots and under the limit of `up`; a peer that serves wrong bytes is
told on, and not asked again for an hour.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import Final

import trio

from node.blobs.bitmap import encode_bitmap, parse_bitmap
from node.blobs.fetch import BLOB_PROTOCOL, INDEX_BYTES, Fetch, Peers, Unkept
from node.blobs.given import Given
from node.blobs.part import Part
from node.blobs.slots import QUEUE_S, Hold, Slots
from node.blobs.throttle import Throttle
from node.blobs.work import Work, here
from node.disk.blob_store import BlobStore
from node.disk.files import write_file
from node.peering.call import CallRefused, Malformed, call, reply_to
from node.peering.transport import Stream, Timeout, TooMuch, Transport, TransportError, Unreachable, short
from protocol import codec
from protocol.blob import ChunkList
from protocol.errors import ProtocolError

log = logging.getLogger("gonode.net")

MAX_BLOB: Final = 256 << 20
"""The most bytes of a blob that is fetched unless a caller says otherwise."""

MAX_REQUEST: Final = 1024
HAVE_WAIT_S: Final = 10.0
"""How long an asker that knows all there is waits for more."""

LIES_S: Final = 3600.0
"""How long a peer that served wrong bytes is not asked again."""

_ANSWER_S: Final = 60.0
_LIST_BYTES: Final = 8 + 32 * 4096
_LIST_S: Final = 10.0
_NEXT_LIST_S: Final = 2.0
_KNOWN_LISTS: Final = 256
_KNOWN_LIARS: Final = 1024

Report = Callable[[bytes, str], None]
"""Is told of a peer that served wrong bytes, and how they are wrong."""

Seek = Callable[[bytes], Awaitable[Sequence[bytes]]]
"""Connects to peers that are said to have a blob; their keys."""


class BlobService:
    """Serves the blobs of `store` to peers from when it is made, and fetches others into it.

    `up` and `down` limit the chunks that leave and come; `seek` is asked when no peer has a blob.
    """

    def __init__(
        self,
        transport: Transport,
        store: BlobStore,
        *,
        up: Throttle | None = None,
        down: Throttle | None = None,
        report: Report | None = None,
        seek: Seek | None = None,
        rng: Random | None = None,
        work: Work = here,
    ) -> None:
        self.store = store
        self._liars: OrderedDict[bytes, float] = OrderedDict()
        self.report = report
        self.seek = seek
        self.sent_bytes = 0
        self._transport = transport
        self._up = up or Throttle()
        self._down = down or Throttle()
        self._rng = rng or Random()
        self._work = work
        self._slots = Slots()
        self._given = Given(self._rng)
        self._parts: dict[bytes, Part] = {}
        self._lists: OrderedDict[bytes, ChunkList] = OrderedDict()
        self._hashing: dict[bytes, trio.Lock] = {}
        self._running: dict[bytes, trio.Lock] = {}
        transport.serve(BLOB_PROTOCOL, self._serve)

    # ---- fetching

    @property
    def liars(self) -> frozenset[bytes]:
        """The peers that are not asked now, for they served wrong bytes."""
        now = trio.current_time()
        return frozenset(peer for peer, until in self._liars.items() if now < until)

    @property
    def fetching(self) -> tuple[bytes, ...]:
        """The blobs that are being fetched."""
        return tuple(self._parts)

    def progress(self) -> list[tuple[bytes, int, int]]:
        """Of each blob that is being fetched: its digest, and how many of its bytes are here."""
        return [(digest, part.held_bytes, part.chunks.length) for digest, part in self._parts.items()]

    async def fetch(
        self,
        digest: bytes,
        peers: Sequence[bytes] | Peers,
        max_bytes: int = MAX_BLOB,
        timeout_s: float = 300,
        began: Callable[[], None] | None = None,
    ) -> bytes:
        """The blob `digest`, from the store or else from `peers`, who are asked in this order and then all at once.

        When `peers` is a callable, those that connect meanwhile join in. `began` is called when this node has a chunk to
        serve. Raises TooMuch when the blob is over `max_bytes`, Unreachable when no peer has all of it, Timeout, Unkept.
        """
        lock = self._running.setdefault(digest, trio.Lock())
        try:
            with trio.fail_after(timeout_s):
                async with lock:
                    blob = await self._stored(digest)
                    if blob is None:
                        await self._fetch(digest, self._willing(peers), max_bytes, began)
                        blob = await self._stored(digest)
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

    async def _stored(self, digest: bytes) -> bytes | None:
        return await self._work(self.store.get, digest)

    def _willing(self, peers: Sequence[bytes] | Peers) -> Peers:
        """The peers that may be asked, now and later."""

        def willing() -> Sequence[bytes]:
            named = peers() if callable(peers) else peers
            left_out = self.liars | {self._transport.key}
            return [key for key in dict.fromkeys(named) if key not in left_out]

        return willing

    async def _fetch(self, digest: bytes, peers: Peers, max_bytes: int, began: Callable[[], None] | None) -> None:
        try:
            chunks, first = await self._chunk_list(digest, peers, max_bytes)
            part = Part(self.store, chunks, self._work)
            await part.open()
            self._parts[digest] = part
            try:
                async with trio.open_nursery() as nursery:
                    if began is not None:
                        nursery.start_soon(self._tell_begun, part, began)
                    await Fetch(self._transport, part, peers, self._distrust, self._down, self._rng, first).run()
                    nursery.cancel_scope.cancel()
                await part.finish()
                self._keep_list(chunks)
            finally:
                del self._parts[digest]
        except OSError as error:
            raise Unkept(f"Blob {short(digest)} cannot be kept: {error.strerror or error}.") from error
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _tell_begun(self, part: Part, began: Callable[[], None]) -> None:
        while not part.held:
            await part.wait_change(60)
        began()

    async def _chunk_list(self, digest: bytes, peers: Peers, max_bytes: int) -> tuple[ChunkList, bytes | None]:
        """The chunk list from this disk, or from the first peer that has it, with that peer."""
        path = self.store.partial_path(digest, "list")
        chunks: ChunkList | None = None
        first: bytes | None = None
        if path.is_file():
            try:
                chunks = ChunkList.parse(path.read_bytes(), digest)
            except ProtocolError:
                path.unlink()
        if chunks is None:
            asked = peers()
            found = await self._ask_list(digest, asked)
            if found is None and self.seek is not None:
                sought = await self.seek(digest)
                found = await self._ask_list(digest, [key for key in sought if key not in self.liars])
            if found is None:
                raise Unreachable(f"None of {len(asked)} peers has blob {short(digest)}.")
            chunks, first = found
        if chunks.length > max_bytes:
            raise TooMuch(f"Blob {short(digest)} has {chunks.length} bytes; the limit here is {max_bytes}.")
        if not path.is_file():
            write_file(path, chunks.encode(), is_durable=False)
        return chunks, first

    async def _ask_list(self, digest: bytes, peers: Sequence[bytes]) -> tuple[ChunkList, bytes] | None:
        """Asks one peer after the other; who takes longer than _NEXT_LIST_S is not waited for by the next."""
        found: list[tuple[ChunkList, bytes]] = []
        request = codec.encode({"digest": digest, "op": "list"})

        async def ask(peer: bytes, answered: trio.Event) -> None:
            try:
                answer = await call(
                    self._transport, peer, BLOB_PROTOCOL, request, timeout_s=_LIST_S, max_bytes=_LIST_BYTES
                )
                found.append((ChunkList.parse(answer, digest), peer))
                nursery.cancel_scope.cancel()
            except ProtocolError as error:
                self._distrust(peer, error)
            except (CallRefused, TransportError) as error:
                log.debug("no list of blob %s from %s: %s", short(digest), short(peer), error)
            answered.set()

        async with trio.open_nursery() as nursery:
            for peer in peers:
                answered = trio.Event()
                nursery.start_soon(ask, peer, answered)
                with trio.move_on_after(_NEXT_LIST_S):
                    await answered.wait()
        return found[0] if found else None

    def _distrust(self, peer: bytes, error: ProtocolError) -> None:
        log.warning("peer %s served wrong bytes and is not asked for a while: %s", short(peer), error)
        self._liars[peer] = trio.current_time() + LIES_S
        self._liars.move_to_end(peer)
        if len(self._liars) > _KNOWN_LIARS:
            self._liars.popitem(last=False)
        if self.report is not None:
            self.report(peer, f"It served wrong bytes: {error}")

    # ---- serving

    async def _serve(self, stream: Stream) -> None:
        with trio.move_on_after(_ANSWER_S):
            request = await stream.receive(MAX_REQUEST)
            async with AsyncExitStack() as held:
                answering = self._answer(stream.peer, request, held)
                await stream.send(await reply_to(self._transport, stream.peer, answering))

    async def _answer(self, peer: bytes, request: bytes, held: AsyncExitStack) -> bytes:
        """The answer to a request; what `held` is given ends when the answer has left."""
        value = codec.decode(request, MAX_REQUEST)
        match value:
            case {"digest": bytes(digest), "op": str(op), **rest} if len(digest) == 32:
                match op, rest:
                    case "list", {**more} if not more:
                        return (await self._require(digest)).encode()
                    case "have", {"known": int(known), **more} if not more and not isinstance(known, bool):
                        return await self._have(digest, known)
                    case "any", {"wants": bytes(wants), **more} if not more:
                        return await self._give_any(peer, digest, wants, held)
                    case "chunk", {"index": int(index), **more} if not more and not isinstance(index, bool):
                        return await self._give(peer, digest, index, held)
        raise Malformed("This is not a request for a blob's list, for what is here of it, or for a chunk.")

    async def _have(self, digest: bytes, known: int) -> bytes:
        """What this node has of a blob, once that is more than `known` chunks or after HAVE_WAIT_S."""
        chunks = await self._require(digest)
        with trio.move_on_after(HAVE_WAIT_S):
            while (part := self._parts.get(digest)) is not None and len(part.held) <= known:
                await part.wait_change(HAVE_WAIT_S)
        count = len(chunks.hashes)
        part = self._parts.get(digest)
        if part is None and not self.store.has(digest):
            raise CallRefused(f"Blob {short(digest)} is not here.")
        return encode_bitmap(range(count) if part is None else part.held, count)

    async def _give_any(self, peer: bytes, digest: bytes, wants: bytes, held: AsyncExitStack) -> bytes:
        chunks = await self._require(digest)
        wanted = parse_bitmap(wants, len(chunks.hashes))
        hold = await self._slot(peer, held)
        part = self._parts.get(digest)
        here = wanted if part is None else wanted & part.held
        index = self._given.choose(digest, sorted(here), peer, self._transport.peers())
        if index is None:
            raise CallRefused(f"Others were just given these chunks of blob {short(digest)}; ask them first.")
        return index.to_bytes(INDEX_BYTES, "little") + await self._send(peer, chunks, index, hold, held)

    async def _give(self, peer: bytes, digest: bytes, index: int, held: AsyncExitStack) -> bytes:
        chunks = await self._require(digest)
        if not 0 <= index < len(chunks.hashes):
            raise CallRefused(f"There is no chunk {index} of blob {short(digest)} here.")
        return await self._send(peer, chunks, index, await self._slot(peer, held), held)

    async def _slot(self, peer: bytes, held: AsyncExitStack) -> Hold:
        if self._up.wait_s() > QUEUE_S:
            raise CallRefused("Too much leaves here already; ask others, or again later.")
        return await held.enter_async_context(self._slots.slot(peer))

    async def _send(self, peer: bytes, chunks: ChunkList, index: int, hold: Hold, held: AsyncExitStack) -> bytes:
        """A chunk that is about to leave, checked."""
        digest = chunks.digest
        self._given.begin(digest, index, peer)
        is_read = False

        def left(kind: type[BaseException] | None, *_: object) -> None:
            self._given.end(digest, index, peer, is_sent=is_read and kind is None)

        held.push(left)
        await self._up.take(chunks.chunk_bytes(index))
        chunk = await self._read(digest, index, chunks)
        is_read = True
        self.sent_bytes += len(chunk)
        hold.start()
        return chunk

    async def _read(self, digest: bytes, index: int, chunks: ChunkList) -> bytes:
        part = self._parts.get(digest)
        chunk = None if part is None else await part.read(index)
        if chunk is None:
            chunk = await self._work(self._read_whole, digest, index, chunks)
        if chunk is None:
            raise CallRefused(f"There is no chunk {index} of blob {short(digest)} here.")
        return chunk

    def _read_whole(self, digest: bytes, index: int, chunks: ChunkList) -> bytes | None:
        """A chunk of a whole blob, checked; raises CallRefused when it is damaged, which sets the blob aside."""
        chunk = self.store.chunk(digest, index)
        if chunk is None:
            return None
        try:
            chunks.verify_chunk(index, chunk)
        except ProtocolError:
            self.store.set_aside(digest)
            raise CallRefused(f"Blob {short(digest)} is damaged here.") from None
        return chunk

    async def _require(self, digest: bytes) -> ChunkList:
        """The chunk list of a blob that is here, whole or not; raises CallRefused without it."""
        part = self._parts.get(digest)
        if part is not None:
            return part.chunks
        chunks = self._lists.get(digest)
        if chunks is None or not self.store.has(digest):
            chunks = await self._hash(digest)
            if chunks is None:
                self._lists.pop(digest, None)
                raise CallRefused(f"Blob {short(digest)} is not here.")
        self._keep_list(chunks)
        return chunks

    def _keep_list(self, chunks: ChunkList) -> None:
        """Remembers the list of a blob that is here; those used last are kept."""
        self._lists[chunks.digest] = chunks
        self._lists.move_to_end(chunks.digest)
        if len(self._lists) > _KNOWN_LISTS:
            self._lists.popitem(last=False)

    async def _hash(self, digest: bytes) -> ChunkList | None:
        """The chunk list of a stored blob, which is hashed once however many ask."""
        if not self.store.has(digest):
            return None
        lock = self._hashing.setdefault(digest, trio.Lock())
        try:
            async with lock:
                known = self._lists.get(digest)
                return known or await self._work(self.store.chunks, digest)
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._hashing.pop(digest, None)
