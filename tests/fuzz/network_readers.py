"""Readers of single messages of the network: directory, LAN, WebSocket, circuits, addresses, records."""

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final
from zlib import crc32

from libp2p.io.exceptions import ConnectionClosedError
from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage, PeerId, Reservation, StopMessage
from libp2p.transport.exceptions import OpenConnectionError
from multiaddr import Multiaddr  # type: ignore[import-untyped]
from wsproto.connection import ConnectionType as Role

from node.blobs.bitmap import encode_bitmap, parse_bitmap
from node.blobs.have_lists import HaveList
from node.control import MAX_LINE_BYTES
from node.control import _answer as answer_control
from node.peering.addresses import detour, told_addresses
from node.peering.gossip import is_note
from node.peering.libp2p.kad.directory import Directory
from node.peering.libp2p.kad.message import MAX_ANSWER, KadMessage, Kind, MalformedMessage, content_target, parse
from node.peering.libp2p.lan import message as lan_message
from node.peering.libp2p.places import split_circuit
from node.peering.libp2p.quota import Limits, Quota, RelayLimits
from node.peering.libp2p.relay.circuit import CircuitError, Status, read_message
from node.peering.libp2p.relay.relay import Relay
from node.peering.libp2p.relay.relayed import Relayed
from node.peering.libp2p.scope import group_of, network_of, scope_of
from node.peering.libp2p.stream import Libp2pStream
from node.peering.libp2p.told import MAX_ADDRESS, MAX_TOLD, accepted, place_of
from node.peering.libp2p.websocket import WebSocketStream, WebSocketTransport
from node.peering.memory.transport import MemoryTransport
from node.peering.post import Cosigning, Post, Posted
from node.peering.transport import TransportError, Unreachable, address_key, overlook, peer_id, refuse_nobody
from protocol.checkpoint import SignedNote
from protocol.errors import ProtocolError
from protocol.record import Record
from tests.fuzz.reader import Pipe, Reader, mutate_fields
from tests.vectors import wire_generate
from tests.vectors.record_examples import CONTRIBUTOR, STRANGER
from tests.vectors.scenario import unhex

KEY: Final = CONTRIBUTOR.public
OTHER: Final = STRANGER.public
OWN: Final = f"/p2p/{peer_id(KEY)}"
TELLERS: Final = ("192.0.2.7", "9.9.9.9", "127.0.0.1", "", "fe80::1%eth0", "2001:db8::7")
PLACES: Final = tuple(
    place + OWN
    for place in (
        "/ip4/192.0.2.1/tcp/4001",
        "/ip6/fd00::7/tcp/65535",
        "/dns/node.example/tcp/443/ws",
        "/dns4/a.b/tcp/1",
        f"/ip4/9.9.9.9/tcp/4001/p2p/{peer_id(OTHER)}/p2p-circuit",
    )
)


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a file of vectors that are taken."""
    text = (wire_generate.FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return [each for each in json.loads(text)["cases"] if each["expect"] == "ok"]


def message_readers(transport: MemoryTransport) -> Iterator[Reader]:
    """The readers, for a node at `transport`, which has no peers."""
    kad = tuple(unhex(each["input"]["message"]) for each in cases("directory"))
    yield Reader("directory", _directory, kad, (MalformedMessage,))
    requests = (
        KadMessage(Kind.FIND_NODE, content_target(bytes(32))).encode(),
        KadMessage(Kind.GET_PROVIDERS, content_target(bytes(32))).encode(),
        next(each for each in kad if each[1] == Kind.ADD_PROVIDER),
        b"\x08\x05",
    )
    yield Reader("directory-request", _directory_request(transport), requests, (MalformedMessage,))
    yield Reader("directory-stream", _directory_stream(transport), tuple(map(_framed, requests)))
    run = wire_generate.RUN
    yield Reader("lan", _lan, (lan_message.question(run), lan_message.answer(run, "a", PLACES[:2])))
    yield Reader("websocket-server", _websocket_server, SERVED_SOCKETS, (ConnectionClosedError,))
    yield Reader("websocket-client", _websocket_client, DIALED_SOCKETS, (ConnectionClosedError,))
    yield Reader(
        "websocket-dial",
        _websocket_dial,
        (b"/ip4/192.0.2.1/tcp/1/ws", b"/dns/a/tcp/1/ws", b"/ip6/::1/tcp/1/ws" + OWN.encode()),
    )
    yield from _circuit_readers()
    yield Reader("address", _address, tuple(each.encode() for each in PLACES), (Unreachable,))
    yield Reader("told", _told, ("\n".join(PLACES).encode(), PLACES[0].encode()))
    yield Reader("frame", _frame, (b"\0\0\0\6gonode", b"\0\0\0\0"), (TransportError,))
    yield Reader("bitmap", _bitmap, (b"\x01", bytes(200), b"\x07\x10\x01"), (ProtocolError,))
    notes = (wire_generate.head(8), wire_generate.head(6, cosigned=True))
    yield Reader("note", _note, notes, (ProtocolError,))
    posts = {name: [] for name in ("post", "posted", "cosigning")}  # type: dict[str, list[bytes]]
    for each in cases("posts"):
        posts[each["input"]["message"]].append(unhex(each["input"]["data"]))
    yield _record(Post, *posts["post"])
    yield _record(Posted, *posts["posted"])
    yield _record(Cosigning, *posts["cosigning"])
    yield _record(HaveList, HaveList(run, 7, (bytes(32), KEY)).encode())
    yield Reader("control", _control, (b"status\n", b" stop \n", b"none\n"))


def _record(kind: type[Record], *seeds: bytes) -> Reader:
    async def take(data: bytes) -> bool:
        assert kind.parse(data).encode() == data, "accepted another encoding"
        return True

    return Reader(kind.NAME, take, seeds, (ProtocolError,), mutate_fields)


# ---- directory and LAN


def _teller(data: bytes) -> str:
    return TELLERS[crc32(data) % len(TELLERS)]


async def _directory(data: bytes) -> bool:
    read = parse(data, _teller(data))
    again = parse(read.encode(), _teller(data))
    assert again == read, "a message does not read back equal"
    return True


def _directory_request(transport: MemoryTransport) -> Callable[[bytes], Awaitable[bool]]:
    directory = Directory(transport, wire_generate.RUN, Counter())  # type: ignore[arg-type]  # no host is needed

    async def take(data: bytes) -> bool:
        answer = directory._answer(data, KEY, _teller(data))
        assert answer is None or len(answer.encode()) <= MAX_ANSWER
        return True

    return take


def _directory_stream(transport: MemoryTransport) -> Callable[[bytes], Awaitable[bool]]:
    async def take(data: bytes) -> bool:
        directory = Directory(transport, wire_generate.RUN, Counter())  # type: ignore[arg-type]
        await directory.serve(Pipe(data, KEY))
        assert not directory._serving.total(), "a place is lost"
        return True

    return take


def _framed(message: bytes) -> bytes:
    """A message behind its length, of one byte or two."""
    size = len(message)
    return (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + message


async def _lan(data: bytes) -> bool:
    source = ("192.168.1.2", "9.9.9.9", "127.0.0.1")[crc32(data) % 3]
    heard = lan_message.hear(data, wire_generate.RUN, source)
    assert len(heard.addresses) <= lan_message.MAX_HEARD
    for key, addresses in heard.addresses.items():
        again = lan_message.answer(wire_generate.RUN, "a", addresses)
        assert lan_message.hear(again, wire_generate.RUN, source).addresses == {key: addresses}
    return True


# ---- WebSocket


def _masked(*frames: tuple[int, bytes]) -> bytes:
    """Frames of a client under the mask of zeros: (first byte, payload)."""
    parts = []
    for first, payload in frames:
        size = bytes([128 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
        parts.append(bytes([first]) + size + bytes(4) + payload)
    return b"".join(parts)


def _bare(*frames: tuple[int, bytes]) -> bytes:
    """Frames of a server, of at most 125 bytes each."""
    return b"".join(bytes([first, len(payload)]) + payload for first, payload in frames)


FRAMES: Final = ((0x82, b"bytes"), (0x89, b"ping"), (0x02, b"be"), (0x8A, b""), (0x80, b"gin"), (0x88, b"\x03\xe8end"))
UPGRADE: Final = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SERVED_SOCKETS: Final = (
    UPGRADE + _masked(*FRAMES),
    UPGRADE + _masked((0x82, bytes(300)), (0x82, b"")),
    UPGRADE.replace(b"\r\n\r\n", b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n") + _masked(*FRAMES[:2]),
)
_TOKEN: Final = b"{accept}"
_ACCEPT: Final = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: {accept}\r\n\r\n"
)
DIALED_SOCKETS: Final = (_ACCEPT + _bare(*FRAMES), _ACCEPT + _bare(*FRAMES[:5]))


async def _websocket_server(data: bytes) -> bool:
    pipe = Pipe(data)
    socket = WebSocketStream(pipe, Role.SERVER)  # type: ignore[arg-type]  # as much of a stream as it uses
    await socket.accept()
    await _read_all(socket, len(data))
    return True


class _Server(Pipe):
    """A server's bytes, in which the answer to the client's key stands where the token is."""

    async def write(self, data: bytes) -> None:
        asked = re.search(rb"Sec-WebSocket-Key: (\S+)", data)
        if asked is not None:
            digest = hashlib.sha1(asked[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
            whole = b"".join(self.unread).replace(_TOKEN, base64.b64encode(digest))
            self.unread = [whole[at : at + 200] for at in range(0, len(whole), 200)]


async def _websocket_client(data: bytes) -> bool:
    socket = WebSocketStream(_Server(data), Role.CLIENT)  # type: ignore[arg-type]
    await socket.connect("node.example:1")
    await _read_all(socket, len(data))
    return True


async def _read_all(socket: WebSocketStream, most: int) -> None:
    """Reads to the end, and once more behind it."""
    size = 0
    while data := await socket.read(7):
        size += len(data)
    assert size <= most, "more came out than went in"
    assert await socket.read(1) == b""
    with suppress(ConnectionClosedError):
        await socket.write(b"late")


class _NoTcp:
    async def dial(self, place: Any) -> Any:
        raise OpenConnectionError("Nobody is there.")


async def _websocket_dial(data: bytes) -> bool:
    try:
        place = Multiaddr(data.decode("utf-8", "replace"))
    except Exception:
        return False  # as `dial` of a transport does
    sockets = WebSocketTransport(Quota(Limits(), Counter(), refuse_nobody, overlook))
    sockets._tcp = _NoTcp()  # type: ignore[assignment]
    if not sockets.can_dial(place):
        return False
    try:
        await sockets.dial(place)
    except (OpenConnectionError, Unreachable):
        return True
    raise AssertionError("somebody answered")


# ---- circuits


class _Host:
    """As much of a libp2p host as a relay and its users need; a new stream holds `answer`."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.far: list[Pipe] = []

    def set_stream_handler(self, name: str, handler: Any) -> None:
        return

    def get_network(self) -> Any:
        return self

    @property
    def connections(self) -> Any:
        return self

    def get(self, peer: Any, default: Any) -> Any:
        return [SimpleNamespace(is_closed=False, muxed_conn=Pipe(b"").muxed_conn)]

    async def new_stream(self, peer: Any, protocols: Any) -> Pipe:
        self.far.append(Pipe(self.answer, OTHER))
        return self.far[-1]

    async def upgrade_inbound_raw_conn(self, raw: Any, place: Any) -> Any:
        while await raw.stream.read(100):
            continue
        raise OSError("no Noise")

    upgrade_outbound_raw_conn = upgrade_inbound_raw_conn


def _circuit_readers() -> Iterator[Reader]:
    id_bytes = bytes.fromhex("002408011220")
    ok: Any = int(Status.OK)
    reserve = HopMessage(type=HopMessage.RESERVE).SerializeToString()
    connect = HopMessage(type=HopMessage.CONNECT, peer=PeerId(id=id_bytes + OTHER)).SerializeToString()
    places = [Multiaddr(f"/ip4/192.0.2.1/tcp/{port}/p2p/{peer_id(OTHER)}").to_bytes() for port in (1, 2, 3)]
    reservation = Reservation(expire=2**40, addrs=places)
    granted = HopMessage(type=HopMessage.STATUS, status=ok, reservation=reservation).SerializeToString()
    offer = StopMessage(type=StopMessage.CONNECT, peer=PeerId(id=id_bytes + KEY)).SerializeToString()
    taken = StopMessage(type=StopMessage.STATUS, status=ok).SerializeToString()

    async def read(data: bytes) -> bool:
        for kind in (HopMessage, StopMessage):
            message = await read_message(Pipe(data), kind)
            again = kind()
            again.ParseFromString(message.SerializeToString())
            assert again == message, "a message does not read back equal"
        return True

    async def relay(hop: bytes, stop: bytes) -> bool:
        host = _Host(stop)
        served = Relay(host, RelayLimits(), [PLACES[0]], Counter(), unix_s=lambda: 0.0)
        await served._serve(Pipe(_framed(reserve), OTHER))
        assert served.reserved == {OTHER}
        near = Pipe(hop, KEY)
        await served._serve(near)
        assert served.circuits == 0, "a circuit is never let go"
        assert len(near.written) <= 4096 + len(stop)
        return True

    async def relayed(answer: bytes, stop: bytes) -> bool:
        used = Relayed(KEY, lambda key: None, Counter())
        used.attach(_Host(answer))
        await used.reserve(OTHER)
        assert all(len(each) <= MAX_ADDRESS for each in used.addresses())
        await used._serve(Pipe(stop, OTHER))
        assert not used._taken, "a place is lost"
        return True

    async def circuit(answer: bytes) -> bool:
        used = Relayed(KEY, lambda key: None, Counter())
        used.attach(_Host(answer))
        try:
            await used.connect(OTHER, KEY, PLACES[-1])
        except Unreachable as error:
            if not isinstance(error.__cause__, OSError):
                raise
        return True

    async def hopped(data: bytes) -> bool:
        return await relay(data, _framed(taken) + b"bytes")

    async def stopped(data: bytes) -> bool:
        return await relay(_framed(connect) + b"bytes", data)

    async def granted_by(data: bytes) -> bool:
        return await relayed(data, _framed(offer))

    async def offered(data: bytes) -> bool:
        return await relayed(_framed(granted), data)

    hops = (_framed(connect) + b"bytes", _framed(reserve))
    yield Reader("circuit", read, (_framed(offer), _framed(taken)), (CircuitError,))
    yield Reader("relay-hop", hopped, hops)
    yield Reader("relay-stop", stopped, (_framed(taken) + b"bytes",))
    yield Reader("reservation", granted_by, (_framed(granted),), (Unreachable,))
    yield Reader("circuit-offer", offered, (_framed(offer) + b"bytes",))
    yield Reader("circuit-answer", circuit, (_framed(granted),), (Unreachable,))


# ---- addresses


async def _address(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    key = address_key(text)
    assert text.endswith(f"/p2p/{peer_id(key)}")
    relay = split_circuit(text)
    assert relay is None or address_key(relay) != key
    place, host = place_of(text), text[1:].partition("/")[2].partition("/")[0]
    assert place is None or 0 <= detour(text) <= 2
    network_of(host), scope_of(host), group_of(host)
    assert text in told_addresses([text], [], key) or relay is None
    return True


async def _told(data: bytes) -> bool:
    teller = _teller(data)
    kept = accepted(data.decode("utf-8", "replace").split("\n"), KEY, teller)
    assert len(kept) <= MAX_TOLD
    assert accepted(kept, KEY, teller) == kept
    for address in kept:
        assert len(address) <= MAX_ADDRESS
        assert address_key(address) == KEY
        Multiaddr(address)  # or it could not be dialed
    return True


# ---- the rest


async def _frame(data: bytes) -> bool:
    frame = await Libp2pStream(Pipe(data), KEY).receive(1 << 16)
    again = Pipe(b"")
    await Libp2pStream(again, KEY).send(frame)
    assert again.written == data[: len(frame) + 4]
    return True


async def _bitmap(data: bytes) -> bool:
    count = max(0, len(data) * 8 - crc32(data) % 8)
    assert encode_bitmap(parse_bitmap(data, count), count) == data
    return True


async def _note(data: bytes) -> bool:
    note = SignedNote.parse(data)
    assert note.encode() == data
    return is_note(data)


class _Caller:
    """As much of a socket as the control socket needs."""

    def __init__(self, data: bytes) -> None:
        self.pipe = Pipe(data)
        self.answer = b""

    async def __aenter__(self) -> "_Caller":
        return self

    async def __aexit__(self, *_: object) -> None:
        return

    async def receive_some(self, most: int) -> bytes:
        return await self.pipe.read(most)

    async def send_all(self, data: bytes) -> None:
        self.answer += data


async def _control(data: bytes) -> bool:
    async def command() -> dict[str, Any]:
        return {"ok": True}

    caller = _Caller(data)
    await answer_control(caller, {"status": command, "stop": command})  # type: ignore[arg-type]
    if b"\n" in data[:MAX_LINE_BYTES]:
        assert isinstance(json.loads(caller.answer or b"{}"), dict)
    return True
