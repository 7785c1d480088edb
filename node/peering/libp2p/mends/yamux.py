"""Yamux as this node runs it: bounded memory, patient writers, and writes that a cancelled caller cannot tear.

Spec: docs/spec/swarm.md ("Hardening"). Built on private parts of py-libp2p 0.8.1, which does not enforce the receive
window, resets a stream after 5 s without window, and leaves half a frame on the wire when a write is cancelled. Here
whoever sends more than it may loses its connection; a writer waits STALL_S; one task for each connection writes frames.
"""

import logging
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio
from libp2p.network.connection.exceptions import RawConnError
from libp2p.stream_muxer.exceptions import MuxedStreamError
from libp2p.stream_muxer.yamux import yamux

from node.peering.libp2p.mends.held import held
from node.peering.libp2p.scope import network_of
from node.peering.transport import MAX_FRAME, STALL_S, short

log = logging.getLogger("gonode.net")

MAX_WINDOW: Final = 4 << 20
"""What one stream may have on its way to this node, once its reader has kept up."""

_MAX_DATA_FRAME: Final = MAX_FRAME + (64 << 10)
"""A whole message behind the lines that negotiate its protocol: js-libp2p sends as much at once as the window takes."""

MAX_STREAM_BUFFER: Final = MAX_WINDOW + _MAX_DATA_FRAME
"""What one stream may hold unread: the largest window that is ever granted and a frame."""

MAX_CONNECTION_BUFFER: Final = 24 << 20
"""What all streams of one connection may hold unread."""

FRAME_BYTES: Final = 4 * 65_519 - yamux.HEADER_SIZE
"""The most data in one frame that is sent: it fills four Noise messages."""

_CLOSED_POLL_S: Final = 1.0


class PatientStream(yamux.YamuxStream):
    """A stream whose writer waits STALL_S for window, not 5 s, and goes on as soon as there is some."""

    grows = True
    """Whether the receive window may grow, for speed, from 256 KiB up to MAX_WINDOW."""

    def __init__(self, stream_id: int, conn: yamux.Yamux, is_initiator: bool) -> None:
        self._window = 0
        self._widened = trio.Event()
        super().__init__(stream_id, conn, is_initiator)

    @property
    def send_window(self) -> int:
        """How much the other side takes now."""
        return self._window

    @send_window.setter
    def send_window(self, value: int) -> None:
        self._window = value
        if value > 0:
            self._widened.set()

    async def write(self, data: bytes) -> None:
        """Writes all of `data`; raises MuxedStreamError when the stream is closed or no window comes."""
        view = memoryview(data)
        while view:
            if self.send_closed or self.closed:
                raise MuxedStreamError("Stream is closed for sending")
            size = min(self.send_window, FRAME_BYTES, len(view))
            if size <= 0:
                await self._wait_window()
                continue
            self.send_window -= size  # no await since it was read: frames of several tasks do not share window
            header = struct.pack(yamux.YAMUX_HEADER_FORMAT, 0, yamux.TYPE_DATA, 0, self.stream_id, size)
            await self.conn._write_frame(header + view[:size])
            view = view[size:]

    async def _auto_tune_and_send_window_update(self, *, bytes_read: int = 0) -> None:
        """Gives the writer window again once half of it was read, and twice as much the next time.

        The library tells of each read, however small.
        """
        self._pending_recv_release += bytes_read
        if self._pending_recv_release < self.target_recv_window // 2:
            return
        increment = self._pending_recv_release
        self._pending_recv_release = 0
        if self.grows:
            growth = min(self.target_recv_window, MAX_WINDOW - self.target_recv_window)
            self.target_recv_window += growth
            increment += growth
        self.recv_window += increment
        await self.send_window_update(increment)

    async def _wait_window(self) -> None:
        with trio.move_on_after(STALL_S):
            while self._window <= 0 and not self.closed:
                if self._widened.is_set():
                    self._widened = trio.Event()
                with trio.move_on_after(_CLOSED_POLL_S):
                    await self._widened.wait()
            return
        raise MuxedStreamError(f"No window for {STALL_S:g} s")


class BoundedYamux(yamux.Yamux):
    """A connection that ends when its peer overruns a buffer, and whose frames are written whole or not at all."""

    place = ""
    """What counts as one address."""

    _over: trio.Event | None = None

    @property
    def frames(self) -> dict[object, int]:
        """The bytes of frames that are with their streams' readers and writers."""
        found: dict[object, int] = self.__dict__.setdefault("_frames", {})
        return found

    @property
    def held_bytes(self) -> int:
        """What is held in memory for the peer."""
        return sum(map(len, self.stream_buffers.values())) + sum(self.frames.values())

    def end(self) -> None:
        """Ends the connection soon."""
        if self._over is not None:
            log.warning("the connection to %s holds too much and ends", short(_key(self)))
            self._over.set()

    async def _end_when_over(self, over: trio.Event) -> None:
        await over.wait()
        await self.secured_conn.close()  # the reading task sees the end and cleans up

    async def start(self) -> None:
        """Runs the connection until it ends; an exception inside ends the connection only."""
        self.opened_s = trio.current_time()
        self._over = trio.Event()
        remote = self.get_remote_address()
        self.place = "" if remote is None else network_of(remote[0])
        held.add(self)
        self._frames_in, frames_out = trio.open_memory_channel[tuple[bytes, trio.Event]](0)
        self._writing = True
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write_frames, frames_out)
                nursery.start_soon(self._end_when_over, self._over)
                await super().start()
                nursery.cancel_scope.cancel()
        except Exception as error:
            log.warning("a connection to %s failed: %r", self.peer_id, error)
            await self._cleanup_on_error()
        finally:
            held.remove(self)
            with trio.move_on_after(1, shield=True):  # or the peer of a cancelled one would wait for nothing
                await self.secured_conn.close()

    async def _write_frame(self, data: bytes) -> None:
        if not getattr(self, "_writing", False):
            raise RawConnError("The connection is not running.")
        written = trio.Event()
        try:
            await self._frames_in.send((data, written))
        except trio.BrokenResourceError as error:
            raise RawConnError("The connection has ended.") from error
        await written.wait()
        if not self._writing:
            raise RawConnError("The connection has ended.")

    async def _write_frames(self, frames: trio.MemoryReceiveChannel[tuple[bytes, trio.Event]]) -> None:
        try:
            async with frames:
                async for data, written in frames:
                    with self._frame(written), trio.fail_after(STALL_S):
                        await self.secured_conn.write(data)
        except Exception as error:
            log.debug("nothing more goes to %s: %r", self.peer_id, error)
            await self.secured_conn.close()  # the reading task sees the end and cleans up
        finally:
            self._writing = False

    @contextmanager
    def _frame(self, written: trio.Event) -> Iterator[None]:
        """Tells the sender of a frame when it is written, or that the connection has ended."""
        try:
            yield
        except BaseException:
            self._writing = False
            raise
        finally:
            written.set()

    async def _read_data_body(self, length: int) -> bytes:
        unread = [len(buffer) for buffer in self.stream_buffers.values()]
        if (
            length > _MAX_DATA_FRAME
            or max(unread, default=0) + length > MAX_STREAM_BUFFER
            or sum(unread) + length > MAX_CONNECTION_BUFFER
        ):
            log.warning("peer %s sent more than it may; its connection ends", short(_key(self)))
            scope = getattr(self, "_resource_scope", None)  # a quota's Admission
            if scope is not None:
                scope.overrun()
            raise trio.TooSlowError("the peer overran its window")  # what makes the reading loop close the connection
        held.grow(length)
        return await super()._read_data_body(length)


def _key(connection: yamux.Yamux) -> bytes:
    return connection.peer_id.to_bytes()[-32:]
