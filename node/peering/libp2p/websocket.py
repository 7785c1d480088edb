"""A second transport: the same bytes as over TCP, as binary messages of a WebSocket, for nodes behind proxies.

Spec: docs/spec/swarm.md ("WebSocket"). Only `/ws`: Noise inside secures it as it does TCP. py-libp2p's own WebSocket keeps
whole messages of up to 32 MiB, and lets an upgrade take for ever; here messages are a stream of bytes, so that nothing is
held but what one read of the socket brought; an upgrade has UPGRADE_S, headers 16 KiB and a place of its address's quota;
and frames that carry nothing are counted.
"""

import logging
from collections.abc import Iterator
from typing import Any, Final

import trio
from libp2p.abc import ITransport
from libp2p.custom_types import THandler
from libp2p.io.abc import ReadWriteCloser
from libp2p.io.exceptions import ConnectionClosedError
from libp2p.io.trio import TrioTCPStream
from libp2p.network.connection.raw_connection import RawConnection
from libp2p.transport.exceptions import OpenConnectionError
from libp2p.transport.tcp.tcp import TCP, TCPListener
from multiaddr import Multiaddr  # type: ignore[import-untyped]
from wsproto import WSConnection
from wsproto.connection import ConnectionType
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    Request,
)
from wsproto.utilities import ProtocolError

from node.peering.libp2p.places import resolved
from node.peering.libp2p.quota import Quota, handshake

log = logging.getLogger("gonode.net")

UPGRADE_S: Final = 10.0
"""The time that the upgrade of one connection may take."""

MAX_EMPTY_FRAMES: Final = 256
"""The frames without payload (pings among them) that a peer may send within a second."""

_HOSTS: Final = ("ip4", "ip6", "dns", "dns4", "dns6")


class WebSocketStream(ReadWriteCloser):
    """The bytes of a WebSocket whose upgrade is done or under way."""

    def __init__(self, stream: TrioTCPStream, role: ConnectionType) -> None:
        self._stream = stream
        self._socket = WSConnection(role)
        self._unread = bytearray()
        self._has_ended = False
        self._reading = trio.Lock()
        self._empty_frames = 0
        self._counted_from = trio.current_time()

    async def accept(self) -> None:
        """Answers a client's upgrade; raises ConnectionClosedError for anything else, and after UPGRADE_S."""
        event = await self._first_event()
        if not isinstance(event, Request):
            raise ConnectionClosedError("The client asks for no WebSocket.", transport="websocket")
        await self._send(AcceptConnection())

    async def connect(self, host: str) -> None:
        """Asks for the upgrade; raises ConnectionClosedError when it is refused, and after UPGRADE_S."""
        await self._send(Request(host=host, target="/"))
        event = await self._first_event()
        if not isinstance(event, AcceptConnection):
            raise ConnectionClosedError("The server speaks no WebSocket.", transport="websocket")
        for later in self._events():  # what came in the same packet as the end of the upgrade
            await self._take(later)

    async def read(self, n: int | None = None) -> bytes:
        """Up to `n` bytes, at least one; empty at the end. Raises ConnectionClosedError."""
        async with self._reading:
            while not self._unread and not self._has_ended:
                data = await self._stream.read()  # all there is: with a number it would wait for so many
                if not data:
                    return b""
                self._socket.receive_data(data)
                for event in self._events():
                    await self._take(event)
            size = len(self._unread) if n is None else min(n, len(self._unread))
            part = bytes(memoryview(self._unread)[:size])
            del self._unread[:size]
            return part

    async def write(self, data: bytes) -> None:
        """Sends `data` as one message; raises ConnectionClosedError."""
        await self._send(BytesMessage(data))

    async def close(self) -> None:
        """Ends the connection; the other side sees the end of the stream."""
        await self._stream.close()

    def get_remote_address(self) -> tuple[str, int] | None:
        return self._stream.get_remote_address()

    async def _first_event(self) -> Event:
        with trio.move_on_after(UPGRADE_S):
            while True:
                data = await self._stream.read()  # all there is: with a number it would wait for so many
                if not data:
                    raise ConnectionClosedError("The connection ended during its upgrade.", transport="websocket")
                try:
                    self._socket.receive_data(data)
                except (ProtocolError, UnicodeError) as error:  # wsproto decodes headers as ASCII and IDNA, unguarded
                    raise ConnectionClosedError(f"The upgrade is none: {error}.", transport="websocket") from error
                for event in self._events():
                    if isinstance(event, RejectConnection):
                        raise ConnectionClosedError("The upgrade was refused.", transport="websocket")
                    return event
        raise ConnectionClosedError(f"The upgrade took over {UPGRADE_S:g} s.", transport="websocket")

    def _events(self) -> Iterator[Event]:
        """The events in what was received, one by one."""
        try:
            yield from self._socket.events()
        except ProtocolError as error:
            raise ConnectionClosedError(f"The peer broke the protocol: {error}.", transport="websocket") from error

    async def _take(self, event: Event) -> None:
        """Keeps what a message carries, answers a ping, and notes the peer's end, behind which nothing is read."""
        if isinstance(event, BytesMessage):
            self._unread += event.data
            if not event.data:
                self._count_empty()
        elif isinstance(event, (Ping, Pong)):
            self._count_empty()
            if isinstance(event, Ping):
                await self._send(event.response())
        elif isinstance(event, CloseConnection):
            self._has_ended = True
        else:
            raise ConnectionClosedError("The peer sent text in place of bytes.", transport="websocket")

    def _count_empty(self) -> None:
        now = trio.current_time()
        if now - self._counted_from > 1:
            self._counted_from, self._empty_frames = now, 0
        self._empty_frames += 1
        if self._empty_frames > MAX_EMPTY_FRAMES:
            raise ConnectionClosedError("The peer sends frames that carry nothing.", transport="websocket")

    async def _send(self, event: Event) -> None:
        try:
            data = self._socket.send(event)
        except ProtocolError as error:
            raise ConnectionClosedError(f"The WebSocket has ended: {error}.", transport="websocket") from error
        await self._stream.write(data)


class WebSocketListener(TCPListener):
    """Accepts connections, upgrades them and hands them on."""

    def __init__(self, handler: THandler, quota: Quota) -> None:
        async def upgrade(stream: ReadWriteCloser) -> None:
            upgraded = WebSocketStream(stream, ConnectionType.SERVER)  # type: ignore[arg-type]
            with trio.CancelScope() as scope:
                handshake.set(scope)
                remote = stream.get_remote_address()
                place = quota.open_connection(None, remote[0] if remote else None, "inbound")
                if place is None:
                    return  # the connection ends with its handler
                try:
                    await upgraded.accept()
                finally:
                    place.close()
            if not scope.cancelled_caught:
                await handler(upgraded)

        super().__init__(upgrade)

    def get_addrs(self) -> tuple[Any, ...]:
        """The multiaddrs that this listens at."""
        return tuple(Multiaddr(f"{place}/ws") for place in super().get_addrs())


class WebSocketTransport(ITransport):
    """Dials and listens at `/ip4|ip6|dns|dns4|dns6/.../tcp/PORT/ws`."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._tcp = TCP()

    async def dial(self, maddr: Any) -> RawConnection:
        """A connection to the WebSocket at `maddr`; raises OpenConnectionError."""
        place = str(maddr).partition("/ws")[0]
        _, _, name, _, port = place.split("/")[:5]
        host = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        failure: Exception | None = None
        for plain in await resolved(Multiaddr(place)):
            try:
                raw = await self._tcp.dial(plain)
            except OpenConnectionError as error:
                failure = error
                continue
            stream = WebSocketStream(raw.stream, ConnectionType.CLIENT)  # type: ignore[attr-defined]
            try:
                await stream.connect(host)
            except BaseException as error:
                with trio.move_on_after(1, shield=True):
                    await stream.close()
                if not isinstance(error, ConnectionClosedError):
                    raise
                failure = error
            else:
                return RawConnection(stream, True)
        raise OpenConnectionError(f"No WebSocket at {maddr}: {failure}") from failure

    def create_listener(self, handler_function: THandler) -> WebSocketListener:
        """A listener whose upgraded connections go to `handler_function`."""
        return WebSocketListener(handler_function, self._quota)

    def can_dial(self, maddr: Any) -> bool:
        """Whether `maddr` is one of a WebSocket over TCP, at an IP address or a name."""
        host, *names = [protocol.name for protocol in maddr.protocols()] or [""]
        return host in _HOSTS and names in (["tcp", "ws"], ["tcp", "ws", "p2p"])

    def can_listen(self, maddr: Any) -> bool:
        """Whether `maddr` is one of a WebSocket over TCP."""
        return self.can_dial(maddr)

    def protocols(self) -> list[str]:
        """The protocol by which the swarm finds this transport."""
        return ["ws"]
