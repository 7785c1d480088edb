"""Messages of libp2p's Kademlia, as this node reads and writes them.

Spec: docs/spec/wire.md ("Directory"). Built on the library's generated protobuf classes. Whatever is over a limit or has
another form is a `MalformedMessage`; nothing here touches the library's address book.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from google.protobuf.message import DecodeError
from libp2p.kad_dht.pb.kademlia_pb2 import Message
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from node.peering.libp2p.told import MAX_ADDRESS, MAX_LOOKED_AT, accepted
from node.peering.transport import MAX_FOUND, id_bytes, id_key, peer_id

MAX_REQUEST: Final = 8 << 10
"""The most bytes of a request."""

MAX_ANSWER: Final = 64 << 10
"""The most bytes of an answer."""

MAX_TARGET: Final = 64
"""The most bytes of what is looked for."""

_SHA256_PREFIX: Final = b"\x12\x20"


class MalformedMessage(Exception):
    """A message has not the form that its kind has; the message is one sentence."""


class Kind(IntEnum):
    """What a message wants; PUT_VALUE (0) and GET_VALUE (1) are served to nobody."""

    ADD_PROVIDER = 2
    GET_PROVIDERS = 3
    FIND_NODE = 4
    PING = 5


@dataclass(frozen=True, slots=True)
class Told:
    """A peer that a message names, with addresses that end in its id."""

    key: bytes
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KadMessage:
    """A request or an answer; `target` is a peer's id or `content_target`, empty in a ping."""

    kind: Kind
    target: bytes = b""
    closer: tuple[Told, ...] = ()
    providers: tuple[Told, ...] = ()

    def encode(self) -> bytes:
        """The protobuf; addresses that have no binary form are left out."""
        message = Message(type=int(self.kind), key=self.target)  # type: ignore[arg-type]
        for peers, field in ((self.closer, message.closerPeers), (self.providers, message.providerPeers)):
            for peer in peers:
                field.add(id=id_bytes(peer.key), addrs=_binary(peer), connection=Message.ConnectionType.CAN_CONNECT)
        return message.SerializeToString()


def parse(data: bytes, teller: str) -> KadMessage:
    """A message from the peer at IP address `teller`; peers with other kinds of keys are passed over.

    Of closer peers and providers MAX_FOUND each are taken, with those of their addresses that
    `told.accepted` takes. Raises MalformedMessage.
    """
    message = Message()
    try:
        message.ParseFromString(data)
        kind = Kind(message.type)
    except (DecodeError, ValueError) as error:
        raise MalformedMessage("The message is none of the directory's.") from error
    if len(message.key) > MAX_TARGET or (kind is not Kind.PING and not message.key):
        raise MalformedMessage(f"A message looks for {len(message.key)} bytes.")
    return KadMessage(
        kind, bytes(message.key), _told(message.closerPeers, teller), _told(message.providerPeers, teller)
    )


def content_target(key: bytes) -> bytes:
    """What is looked for when `key` (32 bytes) is: the multihash of a CID whose SHA-256 it is."""
    return _SHA256_PREFIX + key


def content_key(target: bytes) -> bytes | None:
    """The 32 bytes of a `content_target`; None for any other target."""
    return target[2:] if len(target) == 34 and target.startswith(_SHA256_PREFIX) else None


def _told(peers: Iterable[Message.Peer], teller: str) -> tuple[Told, ...]:
    found: dict[bytes, Told] = {}
    for number, peer in enumerate(peers):
        if number == MAX_FOUND:
            break
        key = id_key(peer.id)
        if key is not None and key not in found:
            found[key] = Told(key, accepted(_texts(peer.addrs), key, teller))
    return tuple(found.values())


def _texts(addresses: Iterable[bytes]) -> Iterable[str]:
    for number, address in enumerate(addresses):
        if number == MAX_LOOKED_AT:
            return
        if len(address) <= MAX_ADDRESS:
            try:
                yield str(Multiaddr(address))
            except Exception:
                continue  # the library raises many things at foreign bytes


def _binary(peer: Told) -> list[bytes]:
    own = f"/p2p/{peer_id(peer.key)}"
    found: list[bytes] = []
    for address in peer.addresses:
        try:
            found.append(Multiaddr(address.removesuffix(own)).to_bytes())
        except Exception:
            continue
    return found
