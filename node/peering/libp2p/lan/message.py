"""What nodes of a run say to each other by multicast DNS: a question who is there, and an answer with addresses.

Spec: docs/spec/wire.md ("LAN"): libp2p's mDNS of a private network, `_p2p-<first 16 hex digits of the run>._udp.local`.
Written and read with python-zeroconf's packet classes, without its cache, browser or threads. Foreign packets are read up
to MAX_PACKET bytes; of what they say, MAX_HEARD addresses are looked at, and only those nearby are kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from zeroconf._dns import DNSPointer, DNSQuestion, DNSText
from zeroconf._protocol.incoming import DNSIncoming
from zeroconf._protocol.outgoing import DNSOutgoing
from zeroconf.const import _CLASS_IN, _FLAGS_AA, _FLAGS_QR_QUERY, _FLAGS_QR_RESPONSE, _TYPE_ANY, _TYPE_PTR, _TYPE_TXT

from node.peering.libp2p.scope import Scope, scope_of
from node.peering.libp2p.told import accepted, place_of
from node.peering.transport import TransportError, address_key

MAX_PACKET: Final = 9000
MAX_HEARD: Final = 64
"""The most addresses of one packet that are looked at."""

TTL_S: Final = 120
_FIELD: Final = b"dnsaddr="


@dataclass(frozen=True, slots=True)
class Heard:
    """What a packet says to nodes of the run: whether it asks who is there, and addresses of peers by their keys."""

    is_question: bool
    addresses: dict[bytes, tuple[str, ...]]


NOTHING: Final = Heard(False, {})


def service_of(run: bytes) -> str:
    """The name of the service of a run's nodes."""
    return f"_p2p-{run.hex()[:16]}._udp.local."


def question(run: bytes) -> bytes:
    """The packet that asks who is there."""
    packet = DNSOutgoing(_FLAGS_QR_QUERY)
    packet.add_question(DNSQuestion(service_of(run), _TYPE_PTR, _CLASS_IN))
    return packet.packets()[0]


def answer(run: bytes, name: str, addresses: Iterable[str]) -> bytes:
    """The packet by which the node called `name` (one label, any) says where it is; an address has at most 240 bytes."""
    service = service_of(run)
    fields = [_FIELD + address.encode() for address in addresses]
    text = b"".join(bytes([len(each)]) + each for each in fields if len(each) < 256)
    packet = DNSOutgoing(_FLAGS_QR_RESPONSE | _FLAGS_AA)
    packet.add_answer_at_time(DNSPointer(service, _TYPE_PTR, _CLASS_IN, TTL_S, f"{name}.{service}"), 0)
    packet.add_additional_answer(DNSText(f"{name}.{service}", _TYPE_TXT, _CLASS_IN, TTL_S, text))
    return packet.packets()[0]


def hear(data: bytes, run: bytes, source: str) -> Heard:
    """What a packet from IP address `source` says to nodes of `run`; anything malformed or foreign says nothing."""
    service = service_of(run)
    label = service.partition(".")[0].encode()
    if len(data) > MAX_PACKET or label not in data.lower():
        return NOTHING
    try:
        packet = DNSIncoming(data)
        if not packet.valid:
            return NOTHING
        if packet.is_query():
            names = [(each.name.lower(), each.type) for each in packet.questions]
            return Heard((service, _TYPE_PTR) in names or (service, _TYPE_ANY) in names, {})
        texts = [
            record.text
            for record in packet.answers()
            if isinstance(record, DNSText) and record.name.lower().endswith("." + service)
        ]
    except Exception:
        return NOTHING  # whatever the parser does at foreign bytes
    return Heard(False, _nearby(_addresses(texts), source))


def _addresses(texts: Iterable[bytes]) -> list[str]:
    """Up to MAX_HEARD addresses in TXT records."""
    found: list[str] = []
    for text in texts:
        at = 0
        while at < len(text):
            field = text[at + 1 : at + 1 + text[at]]
            at += 1 + text[at]
            if field.startswith(_FIELD):
                found.append(field.removeprefix(_FIELD).decode("ascii", "replace"))
            if len(found) == MAX_HEARD:
                return found
    return found


def _nearby(addresses: Iterable[str], source: str) -> dict[bytes, tuple[str, ...]]:
    """By peer, the addresses that lead into the LAN, or to `source` itself."""
    peers: dict[bytes, list[str]] = {}
    for address in addresses:
        try:
            key = address_key(address)
        except TransportError:
            continue
        place = place_of(address)
        if place is not None and (scope_of(place[0]) is Scope.LAN or place[0] == source):
            peers.setdefault(key, []).append(address)
    kept = {key: accepted(found, key, source) for key, found in peers.items()}
    return {key: found for key, found in kept.items() if found}
