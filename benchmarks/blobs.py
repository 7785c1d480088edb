"""How fast blobs travel between nodes: `python -m benchmarks.blobs [--quick] [--json]`.

One blob between two processes over libp2p on loopback, in turns with what the machine does without libp2p: plain TCP with
ChaCha20-Poly1305 in messages of 64 KiB and SHA-256 a chunk, one process a side. Then one seed and many fetchers that
start at once, each linked to the seed and to four others: how many copies the seed uploads, and how long all take beside the
time of one copy; on loopback, and over uplinks of 20 Mbit/s: in network namespaces where the machine makes them, else
in memory on a virtual clock.
"""

import hashlib
import os
import socket
import tempfile
import time
from contextlib import AsyncExitStack
from multiprocessing import get_context
from pathlib import Path
from random import Random

import trio
import trio.testing
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from benchmarks._blob_nodes import LOOPBACK, BlobNode, Place, blob_nodes
from benchmarks._run import Row, Summary, arguments, rounds, show_all
from benchmarks._uplinks import NotHere, uplinks
from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.peering.memory.network import MemoryNetwork
from protocol.blob import blob_digest
from protocol.ed25519 import SecretKey

MIB = 1 << 20
LINKS = 4
UPLINK_BYTES_S = 20_000_000 / 8
NARROW = "20 Mbit/s"
WITHIN_S = 300
_MESSAGE_BYTES = 65_519


def blob_of(size: int) -> bytes:
    """A blob whose chunks all differ."""
    return Random(1).randbytes(size)


# ---- one blob between two processes


def raw_mib_s(size: int) -> float:
    """MiB/s of `size` bytes through TCP on loopback, encrypted, decrypted and hashed."""
    key, nonce = os.urandom(32), bytes(12)
    near, far = _tcp_pair()

    def send() -> None:
        cipher, message = ChaCha20Poly1305(key), os.urandom(_MESSAGE_BYTES)
        near.close()
        for _ in range(0, size, _MESSAGE_BYTES):
            far.sendall(cipher.encrypt(nonce, message, None))
        far.close()

    process = get_context("fork").Process(target=send, daemon=True)
    started = time.perf_counter()
    process.start()
    far.close()
    cipher, hasher, sealed = ChaCha20Poly1305(key), hashlib.sha256(), bytearray()
    while data := near.recv(256 << 10):
        sealed += data
        while len(sealed) >= _MESSAGE_BYTES + 16:
            hasher.update(cipher.decrypt(nonce, bytes(sealed[: _MESSAGE_BYTES + 16]), None))
            del sealed[: _MESSAGE_BYTES + 16]
    took = time.perf_counter() - started
    near.close()
    process.join()
    return size / MIB / took


def _tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    return near, far


def one_blob(size: int, seconds: float) -> list[Row]:
    """Rows for a blob between two processes and for the machine's own speed, in turns."""
    with blob_nodes([LOOPBACK] * 2) as (seed, fetcher):
        digest = seed.ask("put", blob_of(size))
        fetcher.ask("dial", [seed.ask("address")])
        fetcher.ask("fetch", digest, WITHIN_S)

        def fetch() -> float:
            fetcher.ask("forget", digest)
            return size / MIB / float(fetcher.ask("fetch", digest, WITHIN_S))

        ours, raw = rounds([fetch, lambda: raw_mib_s(size)], seconds)
    peak = Summary.of(raw)
    found: list[Row] = []
    for what, numbers in (("a blob between two nodes", Summary.of(ours)), ("TCP, ChaCha20-Poly1305, SHA-256", peak)):
        found.append(
            {
                "what": what,
                "MiB": size // MIB,
                "MiB/s": numbers.median,
                "spread": numbers.spread,
                "of raw": numbers.median / peak.median,
            }
        )
    return found


# ---- one seed, many fetchers


def swarm_row(
    where: str, uplink: str, size: int, fetchers: int, done_s: list[float], sent: int, one_copy_s: float
) -> Row:
    """A row: how long the last of them took, and what the seed uploaded."""
    return {
        "where": where,
        "uplink": uplink,
        "MiB": size // MIB,
        "fetchers": fetchers,
        "first s": min(done_s),
        "all s": max(done_s),
        "one copy s": one_copy_s,
        "times one copy": max(done_s) / one_copy_s,
        "copies by seed": sent / size,
    }


def links_of(count: int) -> list[list[int]]:
    """Whom each of `count` fetchers dials besides the seed, which is 0."""
    rng = Random(1)
    numbers = range(1, count + 1)
    return [rng.sample([each for each in numbers if each != own], min(LINKS, count - 1)) for own in numbers]


def one_copy_s(seed: BlobNode, first: BlobNode, digest: bytes) -> float:
    """How long one fetcher alone takes."""
    took = float(first.ask("fetch", digest, WITHIN_S))
    first.ask("forget", digest)
    return took


def processes(where: str, uplink: str, places: list[Place], size: int, alone_s: float | None) -> Row:
    """The row of fetchers in processes of their own; `alone_s` is the time of one copy, measured when it is None."""
    with blob_nodes(places) as (seed, *fetchers):
        digest = seed.ask("put", blob_of(size))
        addresses = [node.ask("address") for node in (seed, *fetchers)]
        for node, others in zip(fetchers, links_of(len(fetchers)), strict=True):
            node.ask("dial", [addresses[0], *(addresses[each] for each in others)])
        if alone_s is None:
            alone_s = one_copy_s(seed, fetchers[0], digest)
        before = seed.ask("sent")
        for node in fetchers:
            node.send("fetch", digest, WITHIN_S)
        done_s = [float(node.answer()) for node in fetchers]
        return swarm_row(where, uplink, size, len(fetchers), done_s, seed.ask("sent") - before, alone_s)


async def _in_memory(size: int, count: int, folder: Path) -> Row:
    network = MemoryNetwork(seed=1)
    blob = blob_of(size)
    async with AsyncExitStack() as stack:
        made: list[BlobService] = []
        transports = []
        for number in range(count + 1):
            transport = await stack.enter_async_context(network.open(SecretKey(number.to_bytes(32, "big"))))
            network.limit_up(transport.key, UPLINK_BYTES_S)
            transports.append(transport)
            made.append(BlobService(transport, BlobStore(folder / str(number) / "public"), rng=Random(number)))
        made[0].store.put(blob)
        for transport, others in zip(transports[1:], links_of(count), strict=True):
            for each in (0, *others):
                await transport.dial(transports[each].addresses()[0])
        started = trio.current_time()
        done_s: list[float] = []

        async def fetch(number: int) -> None:
            await made[number].fetch(blob_digest(blob), transports[number].peers, timeout_s=WITHIN_S)
            done_s.append(trio.current_time() - started)

        async with trio.open_nursery() as nursery:
            for number in range(1, count + 1):
                nursery.start_soon(fetch, number)
        return swarm_row(
            "memory, virtual clock", NARROW, size, count, done_s, made[0].sent_bytes, size / UPLINK_BYTES_S
        )


def narrow(size: int, count: int) -> Row:
    """The row of fetchers behind uplinks of 20 Mbit/s, in namespaces or else in memory."""
    try:
        with uplinks(count + 1, "20mbit") as places:
            return processes("namespaces", NARROW, places, size, size / UPLINK_BYTES_S)
    except NotHere:
        with tempfile.TemporaryDirectory() as folder:
            clock = trio.testing.MockClock(autojump_threshold=0)
            return trio.run(_in_memory, size, count, Path(folder), clock=clock)


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    size, fetchers = (16 * MIB, 8) if given.quick else (32 * MIB, 16)
    show_all(
        {
            "one blob": one_blob(64 * MIB, 5.0 if given.quick else 20.0),
            "one seed": [
                processes("loopback", "none", [LOOPBACK] * (fetchers + 1), size, None),
                narrow(size, fetchers),
            ],
        },
        given.json,
    )


if __name__ == "__main__":
    main()
