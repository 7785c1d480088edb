"""WebSocket as a second transport: the same streams, and what a hostile client or server may not take."""

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest
import trio
from libp2p.io.exceptions import ConnectionClosedError
from multiaddr import Multiaddr  # type: ignore[import-untyped]
from wsproto.connection import ConnectionType

from node.peering.call import call, serve_calls
from node.peering.libp2p import websocket
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.quota import Limits, Quota
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.libp2p.websocket import WebSocketStream
from node.peering.transport import Unreachable, overlook, peer_id, refuse_nobody
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.public_victim import LIMITS
from tests.node.peering.libp2p.test_hardening import Victim
from tests.node.peering.libp2p.victim import ECHO, IDLE

TCP, WS = "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/tcp/0/ws"
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
MASKED_EMPTY_FRAGMENT = b"\x02\x80\x00\x00\x00\x00"
MASKED_EMPTY_CONTINUATION = b"\x00\x80\x00\x00\x00\x00"
MASKED_PING = b"\x89\x80\x00\x00\x00\x00"


class PublicVictim(Victim):
    """A victim that listens over TCP and WebSocket and relays."""

    script = "public_victim.py"


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    made = PublicVictim()
    yield made
    made.close()


def port_of(address: str) -> int:
    return int(address.split("/")[4])


async def upgraded(victim: Victim) -> trio.SocketStream:
    """A raw connection to the victim's WebSocket after a proper upgrade."""
    stream = await trio.open_tcp_stream("127.0.0.1", port_of(victim.addresses[1]))
    await stream.send_all(UPGRADE)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += await stream.receive_some()
    assert answer.startswith(b"HTTP/1.1 101")
    return stream


async def ends(stream: trio.SocketStream, within_s: float) -> bool:
    """Whether the other side ends the connection in time."""
    with trio.move_on_after(within_s):
        try:
            while await stream.receive_some(65536):
                pass
        except trio.BrokenResourceError:
            return True
        return True
    return False


async def flood(stream: trio.SocketStream, data: bytes, times: int) -> int:
    """How often `data` could be sent before the other side ended the connection."""
    for count in range(times):
        try:
            with trio.fail_after(10):
                await stream.send_all(data)
        except (trio.BrokenResourceError, trio.TooSlowError):
            return count
    return times


async def test_the_same_over_both(victim: Victim) -> None:
    tcp, ws = victim.addresses
    assert "/ws/p2p/" in ws
    assert "/ws" not in tcp
    named = ws.replace("/ip4/127.0.0.1/", "/dns4/localhost/")
    for address in (tcp, ws, named):
        async with open_libp2p(SecretKey.generate(), []) as honest:
            assert honest.addresses() == ()
            assert await honest.dial(address) == victim.key
            frame = os.urandom(1_900_000)
            assert await call(honest, victim.key, ECHO, frame) == frame


async def test_both_ways_between_two_nodes() -> None:
    async with (
        open_libp2p(SecretKey.generate(), [WS]) as a,
        open_libp2p(SecretKey.generate(), [WS, TCP]) as b,
    ):

        async def mirror(peer: bytes, request: bytes) -> bytes:
            return request[::-1]

        for node in (a, b):
            serve_calls(node, ECHO, mirror)
        await b.dial(a.addresses()[0])
        with trio.fail_after(5):
            while b.key not in a.peers():
                await trio.sleep(0.01)
        assert await call(a, b.key, ECHO, b"abc") == b"cba"
        assert await call(b, a.key, ECHO, b"abc") == b"cba"


async def test_the_wrong_identity_and_the_wrong_transport_are_refused(victim: Victim) -> None:
    tcp, ws = (address.rpartition("/p2p/")[0] for address in victim.addresses)
    own, wrong = peer_id(victim.key), peer_id(SecretKey.generate().public)
    async with open_libp2p(SecretKey.generate(), []) as node:
        for address in (
            f"{ws}/p2p/{wrong}",
            f"{tcp}/ws/p2p/{own}",
            f"{ws.removesuffix('/ws')}/p2p/{own}",
            f"{ws.removesuffix('/ws')}/wss/p2p/{own}",
            f"/dns4/name.invalid/tcp/1/ws/p2p/{own}",
            f"/tcp/1/ws/p2p/{own}",
            f"/ws/tcp/1/p2p/{own}",
        ):
            with pytest.raises(Unreachable):
                await node.dial(address)
            assert node.peers() == ()
    await victim.check()


async def test_a_server_that_never_upgrades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "UPGRADE_S", 0.5)

    async def silent(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    async def rude(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery, open_libp2p(SecretKey.generate(), []) as node:
        for server in (silent, rude):
            (listener,) = await nursery.start(partial(trio.serve_tcp, server, 0, host="127.0.0.1"))  # type: ignore[arg-type]
            port = listener.socket.getsockname()[1]
            with pytest.raises(Unreachable), trio.fail_after(5):
                await node.dial(f"/ip4/127.0.0.1/tcp/{port}/ws/p2p/{peer_id(SecretKey.generate().public)}")
        nursery.cancel_scope.cancel()


async def test_slow_upgrades_hold_few_places_and_end(victim: Victim) -> None:
    port = port_of(victim.addresses[1])
    streams = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(60)]
    for stream in streams:
        try:
            await stream.send_all(b"GET / HTTP/1.1\r\n")
        except trio.BrokenResourceError:
            continue
    held = 0
    for stream in streams:
        held += not await ends(stream, 0.05)
    assert 1 <= held <= LIMITS.connections_per_address
    async with trio.open_nursery() as nursery:

        async def dribble(stream: trio.SocketStream) -> None:
            await flood_slowly(stream)
            await stream.aclose()

        for stream in streams:
            nursery.start_soon(dribble, stream)
    await victim.check()


async def flood_slowly(stream: trio.SocketStream) -> None:
    """Sends a header a second until the other side has had enough."""
    with trio.fail_after(websocket.UPGRADE_S + 5):
        while True:
            try:
                await stream.send_all(b"X-Header: x\r\n")
            except trio.BrokenResourceError:
                return
            await trio.sleep(1)


async def test_endless_headers(victim: Victim) -> None:
    stream = await trio.open_tcp_stream("127.0.0.1", port_of(victim.addresses[1]))
    async with stream:
        await stream.send_all(b"GET / HTTP/1.1\r\n")
        assert await flood(stream, b"X: " + b"x" * 60_000, 1000) < 1000
    await victim.check()


async def test_garbage(victim: Victim) -> None:
    for data in (
        b"\x00" * 1000,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\xff" * 70_000,
        UPGRADE.replace(b"13", b"12"),
        UPGRADE.replace(b"Connection: Upgrade", b"Connection: \xff"),
        UPGRADE.replace(b"Host: x", b"Host: \xff"),
    ):
        stream = await trio.open_tcp_stream("127.0.0.1", port_of(victim.addresses[1]))
        async with stream:
            await stream.send_all(data)
            assert await ends(stream, 3)
    for frame in (b"\xff" * 10, b"\x81\x80\x00\x00\x00\x00", b"\x82\x7e\x00\x01\x00", b"\x88\x80\x00\x00\x00\x00"):
        stream = await upgraded(victim)
        async with stream:
            await stream.send_all(frame)
            assert await ends(stream, 3), frame
    await victim.check()


class Received:
    """As much of a TCP stream as a WebSocket needs, with these bytes in it."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    async def read(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, data: bytes) -> None:
        return


async def test_bytes_that_come_with_the_close_are_read() -> None:
    frames = b"\x82\x85\0\0\0\0bytes" + b"\x88\x80\0\0\0\0"
    socket = WebSocketStream(Received(UPGRADE, frames, frames), ConnectionType.SERVER)  # type: ignore[arg-type]
    await socket.accept()
    assert [await socket.read(3) for _ in range(4)] == [b"byt", b"es", b"", b""]


@pytest.mark.parametrize("header", [b"Connection: \xff", b"Host: \xff"])
async def test_a_header_that_is_no_text_is_an_error_with_a_name(header: bytes) -> None:
    request = UPGRADE.replace(b"\r\n\r\n", b"\r\n" + header + b"\r\n\r\n").replace(b"Host: x\r\n", b"")
    socket = WebSocketStream(Received(request), ConnectionType.SERVER)  # type: ignore[arg-type]
    with pytest.raises(ConnectionClosedError):
        await socket.accept()


async def test_a_message_without_end(victim: Victim) -> None:
    before = (await victim.check())["resident"]
    stream = await upgraded(victim)
    async with stream:
        await stream.send_all(b"\x82\xff" + (1 << 40).to_bytes(8, "big") + bytes(4))
        sent = await flood(stream, bytes(1 << 20), 200)
    assert (await victim.check())["resident"] - before < 20 << 20
    assert sent < 200


@pytest.mark.parametrize("frame", [MASKED_EMPTY_CONTINUATION, MASKED_PING])
async def test_frames_that_carry_nothing(victim: Victim, frame: bytes) -> None:
    stream = await upgraded(victim)
    async with stream:
        await stream.send_all(MASKED_EMPTY_FRAGMENT)
        await flood(stream, frame * 1000, 1)
        assert await ends(stream, 5)
    await victim.check()


async def test_a_sender_that_ignores_the_window(victim: Victim) -> None:
    async with open_libp2p(SecretKey.generate(), []) as attacker:
        await attacker.dial(victim.addresses[1])
        stream = await raw(attacker, victim)
        sent = 0
        with pytest.raises(Exception), trio.fail_after(20):  # noqa: B017,PT011,PT012 - however the library says it
            import struct

            header = struct.pack("!BBHII", 0, 0, 0, stream.muxed_stream.stream_id, 60_000)
            while sent < 100 << 20:
                await stream.muxed_stream.conn._write_frame(header + bytes(60_000))
                sent += 60_000
        assert sent < 60 << 20
    assert (await victim.check())["resident"] < 150 << 20


async def raw(transport: Libp2pTransport, victim: Victim) -> object:
    from tests.node.peering.libp2p.test_hardening import raw_stream

    return await raw_stream(transport, victim, IDLE)


def test_what_is_dialed_has_a_host_and_a_port() -> None:
    sockets = websocket.WebSocketTransport(Quota(Limits(), Counter(), refuse_nobody, overlook))
    own = f"/p2p/{peer_id(bytes(32))}"
    for place in ("/ip4/9.9.9.9/tcp/1/ws", "/ip6/::1/tcp/1/ws", "/dns4/a/tcp/1/ws"):
        assert sockets.can_dial(Multiaddr(place))
        assert sockets.can_dial(Multiaddr(place + own))
    for place in (
        "/tcp/1/ws",
        "/ws",
        "/ws/tcp/1",
        "/ip4/9.9.9.9/tcp/1",
        "/ip4/9.9.9.9/ws",
        "/ip4/9.9.9.9/tcp/1/tls/ws",
    ):
        assert not sockets.can_dial(Multiaddr(place + own))
    assert not sockets.can_dial(Multiaddr(f"/ip4/9.9.9.9/tcp/1/ws{own}/p2p-circuit"))
