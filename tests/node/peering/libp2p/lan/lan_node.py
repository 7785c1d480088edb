"""A node in a process of its own that looks for others on the LAN: `lan_node.py RUN`.

Prints its address, then each address that it hears, and at the end how many pages it takes; ends with its standard input.
"""

import sys
from pathlib import Path

import trio

from node.peering.libp2p.lan.mdns import Lan, near_addresses
from node.peering.libp2p.opening import open_libp2p
from protocol.ed25519 import SecretKey


async def main(run: bytes) -> None:
    """Looks until the standard input ends."""

    async with open_libp2p(SecretKey.generate(), ["/ip4/0.0.0.0/tcp/0"]) as transport, trio.open_nursery() as nursery:
        print(near_addresses(transport.addresses())[0], flush=True)
        lan = Lan(transport, run, lambda addresses: print(*addresses, sep="\n", flush=True))
        nursery.start_soon(lan.run)
        while await trio.to_thread.run_sync(sys.stdin.readline):
            pass
        nursery.cancel_scope.cancel()
    print("pages", Path("/proc/self/statm").read_text().split()[1], flush=True)


if __name__ == "__main__":
    trio.run(main, bytes.fromhex(sys.argv[1]))
