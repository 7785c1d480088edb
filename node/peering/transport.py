"""The narrow interface between a node and its peers: identity, dialing, framed streams, publications.

Spec: docs/spec/wire.md ("Frames"). `libp2p` implements it over TCP and WebSocket, `memory` in memory on
trio's clock. A peer is its 32-byte Ed25519 key; an address is a multiaddr that ends in `/p2p/<peer id>`. Every
wait has a deadline and every failure is a `TransportError` of one sentence. Nothing may depend on a publication.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, Protocol

from node.peering.waits import Waits

MAX_FRAME: Final = 2 << 20
"""The most bytes in one frame of a stream; a frame travels as its u32 big-endian length and its bytes."""

MAX_PUBLICATION: Final = 64 << 10
"""The most bytes in one publication."""

MAX_CONNECTIONS: Final = 256
"""The most connections of a node."""

DIAL_S: Final = 10.0
"""The time that one dial may take."""

OPEN_S: Final = 15.0
"""The time that opening one stream may take."""

STALL_S: Final = 60.0
"""The time that one frame may take on its way in or out; callers set shorter limits."""

FIND_S: Final = 10.0
"""The time that one look into the directory of peers may take."""

MAX_FOUND: Final = 20
"""The most addresses that one look gives."""

PROVIDED_S: Final = 1800.0
"""How long the directory remembers one `provide`; whoever goes on serving tells it again after half of that."""

RESERVED_S: Final = 3600.0
"""How long a relay keeps a place for a peer; whoever wants to keep it asks again after a part of that."""

_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ID_PREFIX: Final = bytes.fromhex("002408011220")


class TransportError(Exception):
    """Something between this node and a peer did not work; the message is one sentence."""


class Unreachable(TransportError):
    """The peer cannot be dialed, or does not speak the protocol."""


class PeerGone(TransportError):
    """The stream or the connection ended, cleanly or not."""


class CannotListen(Exception):
    """This node's own address cannot be listened at; the message is one sentence."""


class TooMuch(TransportError):
    """A frame, publication or number of streams is over its limit."""


class Timeout(TransportError):
    """The peer took too long."""


class Stream(Protocol):
    """Frames in both directions between two peers; whoever opened it closes it."""

    peer: bytes
    """The key of the other side."""

    async def send(self, frame: bytes) -> None:
        """Sends one frame; raises TooMuch over MAX_FRAME, PeerGone, or Timeout after STALL_S."""

    async def receive(self, max_bytes: int = MAX_FRAME) -> bytes:
        """The next whole frame; raises PeerGone at any end, TooMuch for one over `max_bytes`, Timeout after STALL_S."""

    async def close(self) -> None:
        """Ends both directions; never raises."""


Handler = Callable[[Stream], Awaitable[None]]
"""Serves one stream that a peer opened; its exception resets that stream, is counted, and ends nothing else."""

Listener = Callable[[bytes, bytes], Awaitable[None]]
"""Takes one publication: (key of the peer that published it, data)."""

Accepts = Callable[[bytes, bytes], bool]
"""Whether a publication is worth passing on: (key of the peer that published it, data); an exception means no."""


Refuse = Callable[[bytes], bool]
"""Whether the peer with this key is to have nothing from this node: no connection, stream or publication."""

Complain = Callable[[bytes, "Misdeed"], None]
"""Told what the peer with this key did."""


class Misdeed(Enum):
    """What a peer may not do, as a transport and those who answer calls see it; the value is a sentence of it."""

    OVERRUN = "It sent more than its window."
    TOO_LONG = "It sent a frame over the limit."
    TOO_OFTEN = "It asked for more than its quota."
    MALFORMED = "It sent requests that are none."
    UNSTAMPED = "It sent registrations without a valid stamp."


OnError = Callable[[Exception], None]
"""Told of each exception of a handler or a listener, which is contained."""


@dataclass(frozen=True, slots=True)
class Link:
    """A connection to `peer` since `since_s` on trio's clock; `address` is what was dialed, None when the peer dialed.

    `host` is the address that it comes from, as quotas count it.
    """

    peer: bytes
    address: str | None
    since_s: float
    host: str = ""


class Transport(Protocol):
    """A node's place among its peers."""

    key: bytes
    """This node's own public key."""

    waits: Waits
    """The calls in flight."""

    on_error: OnError
    """Whom to tell what handlers and listeners raise; nobody at first."""

    refuse: Refuse
    """Who is refused; nobody at first. Connections that are there when a peer becomes so are for the caller to end."""

    complain: Complain
    """Whom to tell what peers did; nobody at first."""

    def addresses(self) -> tuple[str, ...]:
        """The multiaddrs that this node listens at, each ending in its `/p2p/<peer id>`."""

    def peers(self) -> tuple[bytes, ...]:
        """The keys of the peers that are connected now."""

    def links(self) -> tuple[Link, ...]:
        """The connections to `peers()`, one for each."""

    def faults(self) -> Mapping[str, int]:
        """How often each kind of fault was met and contained since the start."""

    async def dial(self, address: str) -> bytes:
        """Connects to the peer at `address` and returns its key; raises Unreachable, for another identity too."""

    async def open(self, peer: bytes, protocol: str) -> Stream:
        """A new stream to a connected peer; raises Unreachable, PeerGone, TooMuch or Timeout."""

    def serve(self, protocol: str, handler: Handler) -> None:
        """Has `handler` serve every stream that peers open for `protocol`, such as `/gonode/call/1`."""

    async def publish(self, topic: str, data: bytes) -> None:
        """Tells subscribers, as a hint that may be lost; raises TooMuch over MAX_PUBLICATION."""

    def subscribe(self, topic: str, handler: Listener, accepts: Accepts | None = None) -> None:
        """Has `handler` take each publication of others on `topic` that `accepts` lets through, one after the other.

        Others are neither handed on to `handler` nor passed on to peers.
        """

    async def provide(self, key: bytes) -> None:
        """Tells the directory that peers keep together that this node serves `key` (32 bytes), for PROVIDED_S.

        A hint, which costs calls to many peers: for what few nodes need and few have. Raises a TransportError.
        """

    async def find(self, key: bytes) -> tuple[str, ...]:
        """Addresses of up to MAX_FOUND peers that are said to serve `key`, within FIND_S; raises a TransportError.

        A hint: anybody can say so of any address.
        """

    def is_dialed(self) -> bool:
        """Whether a peer that is connected now dialed this node itself, through no relay.

        While this node is connected to peers of the public internet, only dials from there count.
        """

    def serve_relay(self) -> None:
        """Has this node relay between peers, within limits, for those that cannot be dialed."""

    def relaying(self) -> tuple[frozenset[bytes], int]:
        """The peers for which this node relays now, and the circuits that are open."""

    def relays(self) -> frozenset[bytes]:
        """The peers that relay for this node now."""

    async def reserve(self, relay: bytes) -> None:
        """Has a connected peer relay for this node for RESERVED_S, while connected; `addresses()` then tell it.

        Raises Unreachable when it does not.
        """

    async def disconnect(self, peer: bytes) -> None:
        """Ends the connection to `peer` and its streams; never raises."""


def ignore(error: Exception) -> None:
    """An `OnError` that tells nobody."""


def refuse_nobody(key: bytes) -> bool:
    """A `Refuse` that refuses nobody."""
    return False


def overlook(key: bytes, misdeed: Misdeed) -> None:
    """A `Complain` that tells nobody."""


@lru_cache(1024)
def peer_id(key: bytes) -> str:
    """The libp2p peer id of an Ed25519 key, such as `12D3KooW...`."""
    number = int.from_bytes(id_bytes(key), "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = _BASE58[digit] + text
    return _BASE58[0] + text  # the prefix begins with one zero byte


def peer_key(text: str) -> bytes:
    """The Ed25519 key of a libp2p peer id; raises Unreachable for any other text."""
    number = 0
    for letter in text[:64]:
        digit = _BASE58.find(letter)
        if digit < 0:
            break
        number = number * 58 + digit
    key = id_key(number.to_bytes(48, "big")[-38:])
    if key is None or peer_id(key) != text:
        raise Unreachable(f"{text[:64]!r} is not the id of a peer with an Ed25519 key.")
    return key


def id_bytes(key: bytes) -> bytes:
    """The binary peer id of an Ed25519 key."""
    return _ID_PREFIX + key


def id_key(data: bytes) -> bytes | None:
    """The Ed25519 key in the bytes of a peer id; None for an id of another kind."""
    return bytes(data[6:]) if len(data) == 38 and data.startswith(_ID_PREFIX) else None


def address_key(address: str) -> bytes:
    """The key of the peer at a multiaddr, from its last part `/p2p/<peer id>`; raises Unreachable without one."""
    head, found, text = address.rpartition("/p2p/")
    if not found or not head.startswith("/"):
        raise Unreachable(f"The address {address[:200]!r} does not end in /p2p/ and a peer id.")
    return peer_key(text)


def short(key: bytes) -> str:
    """The first eight hex digits of a key, for sentences and logs."""
    return key.hex()[:8]
