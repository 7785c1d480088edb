"""A public node in a process of its own, for attacks on WebSocket and relay: `public_victim.py [CIRCUIT_S]`.

Listens over TCP and WebSocket, relays within small limits, and takes places at relays that it is told. Prints its addresses;
ends when its standard input does.
"""

import json
import sys
from pathlib import Path

import trio

from node.peering.call import serve_calls
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.quota import Limits, RelayLimits
from node.peering.transport import Stream
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.victim import ECHO, IDLE, STATUS

RESERVE = "/gonode/reserve/1"
LISTEN = ("/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/tcp/0/ws")
LIMITS = Limits(64, 40, 64, connections_opened=(1000, 1000))
RELAY_LIMITS = RelayLimits(
    reservations=6,
    reservations_per_address=5,
    circuits=4,
    circuits_to_peer=3,
    circuits_from_peer=2,
    circuit_bytes=8 << 20,
    circuit_s=20,
    bytes_s=64 << 20,
)


async def main(relay_limits: RelayLimits) -> None:
    """Serves until the standard input ends."""

    async def echo(peer: bytes, request: bytes) -> bytes:
        return request

    async def hold(stream: Stream) -> None:
        await trio.sleep_forever()

    async def reserve(peer: bytes, request: bytes) -> bytes:
        await transport.reserve(await transport.dial(request.decode()))
        return json.dumps(transport.addresses()).encode()

    async def status(peer: bytes, request: bytes) -> bytes:
        places, circuits = transport.relaying()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return json.dumps(
            {
                "resident": pages * 4096,
                "faults": dict(transport.faults()),
                "places": len(places),
                "circuits": circuits,
                "tasks": trio.lowlevel.current_statistics().tasks_living,
            }
        ).encode()

    async with open_libp2p(SecretKey.generate(), LISTEN, limits=LIMITS) as transport:
        transport.serve_relay(relay_limits)
        serve_calls(transport, ECHO, echo)
        serve_calls(transport, STATUS, status)
        serve_calls(transport, RESERVE, reserve)
        transport.serve(IDLE, hold)
        print(*transport.addresses(), flush=True)
        while await trio.to_thread.run_sync(sys.stdin.readline):
            pass


if __name__ == "__main__":
    trio.run(main, RELAY_LIMITS)
