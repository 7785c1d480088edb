"""One fetch of a blob from many peers at once.

Spec: docs/spec/swarm.md ("Fetching"). A task a peer keeps up with what it has, others ask it for chunks; each chunk
is checked before it counts. Peers that connect meanwhile join in. A peer that gives wrong bytes is told on and not
asked again.
"""

import logging
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

import trio

from node.blobs.bitmap import encode_bitmap, parse_bitmap
from node.blobs.part import Part
from node.blobs.picks import Pick, Picks, Source
from node.blobs.throttle import Throttle
from node.peering.call import CallRefused, call
from node.peering.transport import Transport, TransportError, Unreachable, short
from protocol import codec
from protocol.blob import CHUNK_BYTES
from protocol.errors import ParseError, ProtocolError

log = logging.getLogger("gonode.net")

BLOB_PROTOCOL: Final = "/gonode/blob/1"
INDEX_BYTES: Final = 4
HAVE_S: Final = 20.0
CHUNK_S: Final = 40.0
"""The time that one chunk may take: waiting for a slot of the peer, and a slow line."""

IDLE_S: Final = 15.0
"""A fetch to which nothing comes for so long, and that waits for no chunk, has failed."""

_BITMAP_BYTES: Final = 1024
_PEERLESS_S: Final = 3.0
_LANES: Final = 4
_SOURCES: Final = 16
_FEW_CHUNKS: Final = 2
_FIRST_ALONE_S: Final = 0.5
_LOOK_S: Final = (0.05, 1.0)
_ASK_AGAIN_S: Final = (0.25, 5.0)
_WAIT_S: Final = 0.5
_SPARE_S: Final = 1.0

Peers = Callable[[], Sequence[bytes]]
"""The peers that may be asked, as they are now."""


class Unkept(TransportError):
    """The disk did not take a blob."""


class Fetch:
    """Gets the missing chunks of `part`.

    `distrust(peer, error)` is told of wrong bytes; from then on `peers` does not name that peer. `first` is a peer
    to begin with.
    """

    def __init__(
        self,
        transport: Transport,
        part: Part,
        peers: Peers,
        distrust: Callable[[bytes, ProtocolError], None],
        down: Throttle,
        rng: Random,
        first: bytes | None = None,
    ) -> None:
        self._transport = transport
        self._part = part
        self._peers = peers
        self._distrust = distrust
        self._down = down
        self._first = first
        self._count = len(part.chunks.hashes)
        self._picks = Picks(self._count, part.missing, rng)
        self._changed = trio.Event()
        self._progress_s = trio.current_time()
        self._failure: TransportError | None = None

    async def run(self) -> None:
        """Returns when no chunk is missing; raises Unreachable when nobody gives what is, Unkept."""
        async with trio.open_nursery() as nursery:
            began = self._progress_s = trio.current_time()
            while self._part.missing and self._failure is None:
                is_new = self._count <= _FEW_CHUNKS and trio.current_time() < began + _FIRST_ALONE_S
                for source in self._picks.admit(self._candidates(), 1 if is_new else _SOURCES):
                    nursery.start_soon(self._watch, source)
                    for lane in range(min(_LANES, self._count)):
                        nursery.start_soon(self._ask, source, lane)
                self._check_hope()
                await self._wait_change()
            nursery.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    def _candidates(self) -> Sequence[bytes]:
        """The peers that may be asked, the one first that gave the chunk list."""
        peers = self._peers()
        return [self._first, *peers] if self._first is not None and self._first in peers else peers

    def _check_hope(self) -> None:
        idle_s = trio.current_time() - self._progress_s
        holders = [source for source in self._picks.live if source.holds or not source.is_looked_at]
        is_hope = bool(holders) or any(peer not in self._picks.sources for peer in self._candidates())
        if is_hope and self._down.wait_s() > 0:
            self._progress_s = trio.current_time()  # it waits for its turn, and for no peer
            return
        limit_s = IDLE_S if is_hope else _PEERLESS_S
        if not self._picks.is_waiting and idle_s >= limit_s:
            self._failure = Unreachable(
                f"No peer has all of blob {short(self._part.digest)}: "
                f"{len(self._part.missing)} of {self._count} chunks are missing."
            )

    async def _watch(self, source: Source) -> None:
        """Keeps up with what a peer has: a peer answers when it has more, or after a while."""
        again_s = _ASK_AGAIN_S[0]
        while not source.is_left and len(source.holds) < self._count:
            request: codec.Value = {"digest": self._part.digest, "known": len(source.holds), "op": "have"}
            try:
                answer = await self._call(source, request, _BITMAP_BYTES, HAVE_S)
                holds = parse_bitmap(answer, self._count)
            except CallRefused:
                source.is_looked_at = True
                source.holds = frozenset()
                if any(peer not in self._picks.sources for peer in self._candidates()):
                    self._picks.leave(source)  # in favour of peers that were not asked yet
                    self._tell()
                    return
                await trio.sleep(again_s)
                again_s = min(2 * again_s, _ASK_AGAIN_S[1])
            except ProtocolError as error:
                self._tell_on(source, error)
            except TransportError as error:
                self._fail(source, error)
                await trio.sleep(_ASK_AGAIN_S[0])
            else:
                again_s = _ASK_AGAIN_S[0]
                self._picks.heard(source, holds)
                self._tell()
                await trio.sleep(min(max(self._picks.chunk_s / 2, _LOOK_S[0]), _LOOK_S[1]))

    async def _ask(self, source: Source, lane: int) -> None:
        """Asks a peer for one chunk after the other."""
        while not source.is_left:
            if lane >= self._lanes():
                await trio.sleep(_SPARE_S)
                continue
            await self._down.ready()
            pick = self._picks.pick(source)
            if pick is None:
                await self._wait_change()
            else:
                await self._take(source, pick)

    async def _take(self, source: Source, pick: Pick) -> None:
        began = trio.current_time()
        index: int | None
        try:
            if isinstance(pick, int):
                index = pick if await self._take_one(source, pick) else None
            else:
                index = await self._take_any(source, pick)
        except ProtocolError as error:
            self._tell_on(source, error)
        except CallRefused as error:
            log.debug("no chunk of blob %s from %s: %s", short(self._part.digest), short(source.peer), error)
            self._picks.refused(source, pick)
        except TransportError as error:
            self._fail(source, error)
        except OSError as error:
            self._failure = Unkept(f"Blob {short(self._part.digest)} cannot be kept: {error.strerror or error}.")
        else:
            if index is not None:
                self._picks.came(source, index, trio.current_time() - began)
                self._progress_s = trio.current_time()
        self._tell()

    async def _take_one(self, source: Source, index: int) -> bool:
        """Asks for one chunk; whether it came, which it does not when another peer was faster."""
        with trio.CancelScope() as scope:
            flight = self._picks.begin(source, index, scope)
            try:
                self._down.spend(self._part.chunks.chunk_bytes(index))
                request: codec.Value = {"digest": self._part.digest, "index": index, "op": "chunk"}
                chunk = await self._call(source, request, CHUNK_BYTES, CHUNK_S)
                await self._keep(index, chunk)
            finally:
                self._picks.end(index, flight)
        return not scope.cancelled_caught

    async def _take_any(self, source: Source, wants: frozenset[int]) -> int:
        """Has a peer choose among `wants`; the chunk that it chose."""
        self._picks.choosing += 1
        try:
            self._down.spend(max(map(self._part.chunks.chunk_bytes, wants)))
            bitmap = encode_bitmap(wants, self._count)
            request: codec.Value = {"digest": self._part.digest, "op": "any", "wants": bitmap}
            answer = await self._call(source, request, INDEX_BYTES + CHUNK_BYTES, CHUNK_S)
            index = int.from_bytes(answer[:INDEX_BYTES], "little")
            if len(answer) < INDEX_BYTES or index not in wants:
                raise ParseError("A chunk came that was not asked for.")
            self._picks.chose(source)
            await self._keep(index, answer[INDEX_BYTES:])
        finally:
            self._picks.choosing -= 1
        return index

    async def _keep(self, index: int, chunk: bytes) -> None:
        if index in self._part.missing:
            await self._part.write(index, chunk)

    async def _call(self, source: Source, request: codec.Value, max_bytes: int, within_s: float) -> bytes:
        return await call(
            self._transport,
            source.peer,
            BLOB_PROTOCOL,
            codec.encode(request),
            timeout_s=within_s,
            max_bytes=max_bytes,
        )

    def _tell_on(self, source: Source, error: ProtocolError) -> None:
        self._picks.leave(source)
        self._distrust(source.peer, error)
        self._tell()

    def _fail(self, source: Source, error: TransportError) -> None:
        log.debug("nothing of blob %s from %s: %s", short(self._part.digest), short(source.peer), error)
        self._picks.failed(source)
        self._tell()

    def _lanes(self) -> int:
        """How many chunks one peer is asked for at a time: more of few peers, to hide the way there and back."""
        holders = sum(bool(source.holds) for source in self._picks.live)
        return _LANES if holders <= 1 else 2 if holders <= 3 else 1

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _wait_change(self) -> None:
        """Returns at the next change, or after a while in which patience may have run out."""
        with trio.move_on_after(min(max(self._picks.chunk_s, _LOOK_S[0]), _WAIT_S)):
            await self._changed.wait()
