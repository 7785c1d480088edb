"""A stream of py-libp2p as frames, under deadlines and limits of our own.

Spec: docs/spec/wire.md ("Frames").
"""

import logging
from typing import Any, Final

import trio

from node.peering.libp2p.mends.held import held
from node.peering.transport import (
    MAX_FRAME,
    STALL_S,
    Complain,
    Misdeed,
    PeerGone,
    Timeout,
    TooMuch,
    overlook,
    short,
)

log = logging.getLogger("gonode.net")

LINGER_S: Final = 10.0
"""How long a served stream waits for the other side's end before it is reset."""

_READ_BYTES: Final = 256 << 10
_LENGTH_BYTES: Final = 4
_COPIED_BYTES: Final = 64 << 10


class Libp2pStream:
    """Frames over one libp2p stream (see `node.peering.transport.Stream`)."""

    def __init__(self, stream: Any, peer: bytes, complain: Complain = overlook) -> None:
        self.peer = peer
        self._stream = stream
        self._complain = complain
        self._frames: dict[object, int] = getattr(stream.muxed_conn, "frames", {})

    async def send(self, frame: bytes) -> None:
        if len(frame) > MAX_FRAME:
            raise TooMuch(f"A frame of {len(frame)} bytes is over the limit of {MAX_FRAME}.")
        self._hold(len(frame))
        length = len(frame).to_bytes(_LENGTH_BYTES, "big")
        with trio.move_on_after(STALL_S):
            try:
                if len(frame) <= _COPIED_BYTES:
                    await self._stream.write(length + frame)
                else:
                    await self._stream.write(length)
                    await self._stream.write(frame)
            except Exception as error:
                raise self._gone(error) from error
            return
        raise Timeout(f"Peer {short(self.peer)} took no frame for {STALL_S:g} s.")

    async def receive(self, max_bytes: int = MAX_FRAME) -> bytes:
        with trio.move_on_after(STALL_S):
            length = int.from_bytes(await self._read(_LENGTH_BYTES), "big")
            if length > max_bytes:
                self._complain(self.peer, Misdeed.TOO_LONG)
                await self.reset()
                raise TooMuch(f"Peer {short(self.peer)} sent a frame of {length} bytes, over {max_bytes}.")
            return await self._read(length)
        raise Timeout(f"Peer {short(self.peer)} sent nothing for {STALL_S:g} s.")

    async def close(self) -> None:
        await self._end(self._stream.close)

    async def reset(self) -> None:
        """Ends both directions at once; what is on its way is lost. Never raises."""
        await self._end(self._stream.reset)

    async def finish(self) -> None:
        """Ends this direction, waits a while for the other one to end, and resets the stream if it does not."""
        await self.close()
        with trio.move_on_after(LINGER_S):
            try:
                while await self._stream.read(_READ_BYTES):
                    pass
            except Exception:
                return
        await self.reset()

    def _hold(self, size: int) -> None:
        """Notes how many bytes of frames are in memory for this stream, until it ends."""
        self._frames[self] = size
        held.grow(size)

    async def _end(self, how: Any) -> None:
        self._frames.pop(self, None)
        with trio.move_on_after(1, shield=True):
            try:
                await how()
            except Exception as error:
                log.debug("a stream with %s did not end cleanly: %r", short(self.peer), error)

    async def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = await self._stream.read(min(size - len(data), _READ_BYTES))
            except Exception as error:
                raise self._gone(error) from error
            if not part:
                raise self._gone(None)
            data += part
            del part  # not held twice while the next one is awaited
            self._frames[self] = len(data)
        return bytes(data)

    def _gone(self, error: Exception | None) -> PeerGone:
        detail = f": {error}" if error is not None and str(error) else ""
        return PeerGone(f"The stream with peer {short(self.peer)} has ended{detail}.")
