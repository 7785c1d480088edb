"""Listen addresses: a port that is fixed once, so that a ticket stays good across restarts."""

import socket

from node.peering.transport import peer_id


class ListenError(ValueError):
    """One sentence about an address that cannot be listened at."""


def settle_port(listen: str, key: bytes) -> str:
    """`listen` with a free port in the place of port 0, ending in `/p2p/<id>` of the host key."""
    parts = listen.split("/")
    if len(parts) == 5 and parts[1] == "ip4" and parts[3] == "tcp":
        try:
            port = int(parts[4])
            if port == 0:
                with socket.socket() as probe:
                    probe.bind((parts[2], 0))
                    port = probe.getsockname()[1]
        except (OSError, ValueError) as error:
            raise ListenError(f"{listen}: cannot listen there ({error}).") from None
        return f"/ip4/{parts[2]}/tcp/{port}/p2p/{peer_id(key)}"
    raise ListenError(f"{listen[:80]}: expected /ip4/ADDRESS/tcp/PORT.")
