"""Listen addresses: a port that is fixed once, so that a ticket stays good across restarts."""

import ipaddress
import re
import socket

from node.peering.transport import peer_id


class ListenError(ValueError):
    """One sentence about an address that cannot be listened at."""


def check_address(listen: str) -> tuple[str, int]:
    """The IPv4 address and the port in `/ip4/ADDRESS/tcp/PORT`, with `/ws` or not; raises ListenError for anything else."""
    match = re.fullmatch(r"/ip4/([0-9.]{7,15})/tcp/([0-9]{1,5})(?:/ws)?", listen, re.ASCII)
    try:
        if match is None or int(match[2]) > 65535:
            raise ValueError
        return str(ipaddress.IPv4Address(match[1])), int(match[2])
    except ValueError:
        raise ListenError(f"{listen[:80]!r}: expected /ip4/ADDRESS/tcp/PORT or /ip4/ADDRESS/tcp/PORT/ws.") from None


def settle_port(listen: str, key: bytes) -> str:
    """`listen` with a free port in the place of port 0, ending in `/p2p/<id>` of the host key; raises ListenError."""
    address, port = check_address(listen)
    if port == 0:
        try:
            with socket.socket() as probe:
                probe.bind((address, 0))
                port = probe.getsockname()[1]
        except OSError as error:
            raise ListenError(f"{listen}: cannot listen there ({error.strerror}); name a port.") from None
    websocket = "/ws" if listen.endswith("/ws") else ""
    return f"/ip4/{address}/tcp/{port}{websocket}/p2p/{peer_id(key)}"
