"""How far an IP address reaches, and which addresses count as one owner's.

Spec: docs/spec/swarm.md ("Hardening", "Directory").
"""

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

_MAX_NAME: Final = 256


class Scope(IntEnum):
    """From how far away an address means the same machine."""

    MACHINE = 0
    LAN = 1
    WORLD = 2


def scope_of(host: str) -> Scope | None:
    """How far an IP address reaches, the whole world for a name; None for one that no peer has."""
    try:
        address = _ip(host)
    except ValueError:
        return Scope.WORLD
    if address.is_multicast or address.is_unspecified or address.is_reserved:
        return None
    if address.is_loopback:
        return Scope.MACHINE
    return Scope.WORLD if address.is_global else Scope.LAN


def group_of(host: str) -> str:
    """What counts as one owner's addresses: a /24 or (IPv6) /48 of the Internet, else the address itself."""
    try:
        address = _ip(host)
    except ValueError:
        return host[:_MAX_NAME]
    if not address.is_global:
        return str(address)
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False))


def network_of(host: str) -> str:
    """What quotas count as one address: an IPv4 address, an IPv6 /64, or a name as it is."""
    try:
        address = _ip(host)
    except ValueError:
        return host
    return str(ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def _ip(host: str) -> IPv4Address | IPv6Address:
    """An address; an IPv4 one that a socket for both kinds tells as IPv6 is that one."""
    address = ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
