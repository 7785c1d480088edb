"""Peers that lie: they are in no register, speak the wire, and give everybody who asks something else than what is."""

from collections.abc import Awaitable, Callable
from random import Random

import trio

from node.blobs.service import BLOB_PROTOCOL
from node.following.service import LOG_PROTOCOL
from node.peering.call import serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.post import POST_PROTOCOL, Posted
from node.peering.transport import TransportError, peer_id
from protocol import codec
from protocol.ed25519 import SecretKey

PEERS_PROTOCOL = "/gonode/peers/1"
JUNK_EVERY_S = 5.0

Answer = Callable[[bytes, bytes], Awaitable[bytes]]


async def lie(network: MemoryNetwork, secret: SecretKey, run: bytes, addresses: tuple[str, ...], rng: Random) -> None:
    """Stays linked to peers at `addresses` and lies to them about log, blobs, posts, addresses and news, until cancelled."""
    async with network.open(secret) as transport, trio.open_nursery() as nursery:
        serve_calls(transport, LOG_PROTOCOL, _on_log(rng))
        serve_calls(transport, BLOB_PROTOCOL, _on_blobs(rng))
        serve_calls(transport, POST_PROTOCOL, _on_posts(rng))
        serve_calls(transport, PEERS_PROTOCOL, _on_peers(rng))
        nursery.start_soon(_spread, transport, f"gonode/{run.hex()[:16]}", rng)
        while True:
            for address in addresses:
                try:
                    await transport.dial(address)
                except TransportError:
                    continue
            await trio.sleep(10 * (0.5 + rng.random()))


def _on_log(rng: Random) -> Answer:
    """Heads that nobody signed, entries that are none, proofs that prove nothing."""

    async def answer(peer: bytes, request: bytes) -> bytes:
        match codec.decode(request, 256):
            case {"op": "entries", "start": int(), "limit": int(limit)}:
                return codec.encode({"entries": [rng.randbytes(200)] * min(limit, 9), "proof": [rng.randbytes(32)]})
            case {"op": "prefix"}:
                return codec.encode({"proof": [rng.randbytes(32)], "root": rng.randbytes(32)})
        return codec.encode({"checkpoint": rng.randbytes(300), "size": 1 << 40})

    return answer


def _on_blobs(rng: Random) -> Answer:
    """Lists and chunks of something else."""

    async def answer(peer: bytes, request: bytes) -> bytes:
        return rng.randbytes(rng.randrange(1, 5000))

    return answer


def _on_posts(rng: Random) -> Answer:
    """Says that everything is logged, with a receipt that nobody signed."""

    async def answer(peer: bytes, request: bytes) -> bytes:
        return Posted(rng.randrange(1000), rng.randbytes(200)).encode()

    return answer


def _on_peers(rng: Random) -> Answer:
    """Addresses at which nobody is."""

    async def answer(peer: bytes, request: bytes) -> bytes:
        nobody = [f"/ip4/192.0.2.{n}/tcp/4001/p2p/{peer_id(rng.randbytes(32))}" for n in range(1, 33)]
        return codec.encode({"addresses": nobody})

    return answer


async def _spread(transport: MemoryTransport, topic: str, rng: Random) -> None:
    """Publishes what is neither a head nor a have-list."""
    while True:
        await trio.sleep(JUNK_EVERY_S * (0.5 + rng.random()))
        for kind in ("heads", "have"):
            await transport.publish(f"{topic}/{kind}", rng.randbytes(rng.randrange(1, 6000)))
