"""Addresses that other peers tell: which ones are worth keeping.

Spec: docs/spec/swarm.md ("Directory"). Anybody can tell any address, so one is kept only in a form that this node dials,
ending in the id of its peer, and only if it lies no nearer than who tells it: a peer on the Internet cannot name
addresses of this node's LAN, nor a peer on the LAN its loopback.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from node.peering.libp2p.scope import Scope, scope_of
from node.peering.transport import Unreachable, peer_id, peer_key

MAX_ADDRESS: Final = 256
"""The most characters of one address, and the most bytes of its binary form."""

MAX_TOLD: Final = 4
"""The most addresses of one peer that are kept or told."""

MAX_LOOKED_AT: Final = 32
"""The most addresses of one peer that are looked at."""

_LABEL: Final = "[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?"
_NAME: Final = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_PLACE: Final = re.compile(
    r"/(?P<kind>ip4|ip6|dns|dns4|dns6)/(?P<host>[0-9A-Za-z.:-]{1,253})/tcp/(?P<port>[1-9][0-9]{0,4})"
    r"(?P<web>/ws|/wss|/tls/ws)?(?:/p2p/(?P<relay>[1-9A-HJ-NP-Za-km-z]{1,64})/p2p-circuit)?"
)


def place_of(address: str) -> tuple[str, int] | None:
    """The IP address and port of a multiaddr that leads to its peer directly; None for names, relays and others."""
    match = _PLACE.fullmatch(address.rpartition("/p2p/")[0])
    if match is None or match["relay"] or match["web"] or match["kind"] not in ("ip4", "ip6"):
        return None
    return match["host"], int(match["port"])


def accepted(addresses: Iterable[str], key: bytes, teller: str) -> tuple[str, ...]:
    """Of `addresses` said to be peer `key`'s, up to MAX_TOLD that may be kept, each ending in its id.

    `teller` is the IP address of the peer that says so. Of each peer MAX_LOOKED_AT are looked at.
    """
    own = f"/p2p/{peer_id(key)}"
    nearest = scope_of(teller)
    kept: dict[str, None] = {}
    for number, address in enumerate(addresses):
        if number == MAX_LOOKED_AT or len(kept) == MAX_TOLD:
            break
        place = address.removesuffix(own)
        if nearest is not None and _is_acceptable(place, nearest) and len(place + own) <= MAX_ADDRESS:
            kept[place + own] = None
    return tuple(kept)


def _is_acceptable(place: str, nearest: Scope) -> bool:
    match = _PLACE.fullmatch(place)
    if match is None or int(match["port"]) > 65535 or not _is_peer(match["relay"]):
        return False
    if match["kind"] in ("ip4", "ip6"):
        try:
            version = ip_address(match["host"]).version
        except ValueError:
            return False
        if match["kind"] != f"ip{version}":
            return False
    elif not _NAME.fullmatch(match["host"]):
        return False
    scope = scope_of(match["host"])
    return scope is not None and scope >= nearest


def _is_peer(relay: str | None) -> bool:
    """Whether the id of a relay, if there is one, is a peer's."""
    try:
        return relay is None or bool(peer_key(relay))
    except Unreachable:
        return False
