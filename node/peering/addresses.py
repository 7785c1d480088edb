"""What a multiaddr of a peer is good for, and which of its own a node tells to others.

Spec: docs/spec/swarm.md ("Links"). An address is text that ends in `/p2p/<peer id>`; nothing is dialed or resolved here.
"""

import ipaddress
import re
from collections.abc import Iterable

from node.peering.transport import peer_id

CIRCUIT = "/p2p-circuit"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
_ANNOUNCED = re.compile(rf"/(?:(ip4|ip6)/([0-9A-Fa-f.:]{{2,45}})|dns[46]?/{_NAME})/tcp/([1-9][0-9]{{0,4}})(?:/ws)?")


class AnnounceError(ValueError):
    """One sentence about an address that cannot be announced."""


def check_announced(address: str) -> None:
    """Raises AnnounceError unless others may dial `address`: an IP address or a name, a port, WebSocket or not."""
    match = _ANNOUNCED.fullmatch(address)
    try:
        if match is None or int(match[3]) > 65535:
            raise ValueError
        if match[1] is not None:
            host = ipaddress.ip_address(match[2])
            if f"ip{host.version}" != match[1] or host.is_unspecified or host.is_multicast:
                raise ValueError
    except ValueError:
        raise AnnounceError(
            f"{address[:80]!r}: expected /ip4/ADDRESS/tcp/PORT, /ip6/ADDRESS/tcp/PORT or /dns/NAME/tcp/PORT, or with /ws."
        ) from None


def is_relayed(address: str) -> bool:
    """Whether the way goes through a relay."""
    return f"{CIRCUIT}/" in address


def detour(address: str) -> int:
    """How far a way is from the best one: 0 for TCP, 1 for a WebSocket, 2 through a relay."""
    if is_relayed(address):
        return 2
    return 1 if "/ws/" in address or "/wss/" in address else 0


def told_addresses(listening: Iterable[str], announced: Iterable[str], key: bytes) -> list[str]:
    """The addresses that a node with `key` tells others of itself, best first.

    `announced` ones stand in the place of those that it listens at, but for ways through relays. Without them wildcards are
    not told, nor what only this machine reaches, unless there is nothing else.
    """
    own = f"/p2p/{peer_id(key)}"
    listed = list(listening)
    relayed = [address for address in listed if is_relayed(address)]
    said = [address.removesuffix(own) + own for address in announced]
    plain = [address for address in listed if not is_relayed(address)]
    direct = said or [address for address in plain if _reach(address) > 1] or [a for a in plain if _reach(a) > 0]
    return list(dict.fromkeys([*sorted(direct, key=detour), *relayed]))


def _reach(address: str) -> int:
    """How far away an address can be dialed from: 0 from nowhere, 1 on this machine or its link, 2 from elsewhere."""
    kind, _, rest = address[1:].partition("/")
    if kind not in ("ip4", "ip6"):
        return 2
    try:
        host = ipaddress.ip_address(rest.partition("/")[0])
    except ValueError:
        return 0
    if host.is_unspecified:
        return 0
    return 1 if host.is_loopback or host.is_link_local else 2
