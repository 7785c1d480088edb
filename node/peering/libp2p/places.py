"""Multiaddrs as this node listens at and dials them: TCP or WebSocket, an IP address or a name, or through a relay.

Spec: docs/spec/wire.md ("Connection"). Circuit addresses (`.../p2p/<relay>/p2p-circuit/p2p/<peer>`) are split here, and
names are resolved here, for py-libp2p fails at addresses that begin with one.
"""

from collections.abc import Iterable
from typing import Any, Final

import trio

from node.peering.addresses import CIRCUIT
from node.peering.transport import CannotListen, Unreachable, address_key, peer_id

_NAMES: Final = {"dns": trio.socket.AF_UNSPEC, "dns4": trio.socket.AF_INET, "dns6": trio.socket.AF_INET6}
_LISTENED: Final = (("ip4", "tcp"), ("ip6", "tcp"), ("ip4", "tcp", "ws"), ("ip6", "tcp", "ws"))


def listen_place(address: str, own_key: bytes) -> Any:
    """The multiaddr of an address to listen at, which may end in `/p2p/<own id>`; raises CannotListen."""
    from multiaddr import Multiaddr  # type: ignore[import-untyped]

    plain = address.removesuffix(f"/p2p/{peer_id(own_key)}")
    try:
        place = Multiaddr(plain)
        names = tuple(protocol.name for protocol in place.protocols())
    except Exception as error:
        raise CannotListen(f"{address[:200]!r} is not an address to listen at.") from error
    if names not in _LISTENED:
        raise CannotListen(
            f"{address[:200]!r} is not an address to listen at: /ip4/ADDRESS/tcp/PORT and /ip4/ADDRESS/tcp/PORT/ws are."
        )
    return place


def reachable_places(listening: Iterable[Any]) -> list[str]:
    """The multiaddrs at which listeners can be dialed, TCP first: 0.0.0.0 and :: become addresses of this machine."""
    from libp2p.utils.address_validation import expand_wildcard_address
    from multiaddr import Multiaddr

    found = []
    for place in map(str, listening):
        plain = place.removesuffix("/ws")
        found += [f"{each}{place[len(plain) :]}" for each in expand_wildcard_address(Multiaddr(plain))]
    return sorted(dict.fromkeys(found), key=lambda place: place.endswith("/ws"))


def split_circuit(address: str) -> str | None:
    """The relay's own address in a circuit address; None for any other address.

    Raises Unreachable for one that leads through no relay or through several.
    """
    relay, found, _ = address.partition(f"{CIRCUIT}/")
    if not found:
        return None
    if address.count(CIRCUIT) != 1 or address_key(relay) == address_key(address):
        raise Unreachable(f"{address[:200]!r} does not lead through one relay.")
    return relay


async def resolved(place: Any) -> list[Any]:
    """A multiaddr with each IP address that its name has now; raises Unreachable when the name has none."""
    from multiaddr import Multiaddr

    kind, _, after = str(place)[1:].partition("/")
    name, _, rest = after.partition("/")
    if kind not in _NAMES:
        return [place]
    try:
        found = await trio.socket.getaddrinfo(name, None, _NAMES[kind], trio.socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(f"The name {name[:200]!r} leads to no address.") from error
    hosts = dict.fromkeys(str(address[0]) for *_, address in found)
    return [Multiaddr(f"/{'ip6' if ':' in host else 'ip4'}/{host}/{rest}") for host in hosts]
