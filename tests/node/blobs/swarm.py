"""Nodes with stores of their own in a network in memory, for the tests of blobs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from node.blobs.bitmap import encode_bitmap
from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from protocol import codec
from protocol.blob import CHUNK_BYTES, chunk_list
from tests.node.keys import secret

Answer = Callable[[bytes, bytes], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Node:
    """A node that serves and fetches blobs."""

    transport: MemoryTransport
    service: BlobService

    @property
    def key(self) -> bytes:
        """The node's key."""
        return self.transport.key

    @property
    def store(self) -> BlobStore:
        """The node's blobs."""
        return self.service.store


def store_at(path: Path) -> BlobStore:
    """A store in a folder of its own."""
    return BlobStore(path / "public")


def distinct_blob(chunks: int, more: int = 0) -> bytes:
    """A blob of so many chunks that all differ, and some bytes."""
    rest = Random(5).randbytes(CHUNK_BYTES - 4)
    return b"".join(number.to_bytes(4, "big") + rest for number in range(chunks)) + bytes(more)


@asynccontextmanager
async def nodes(path: Path, count: int, network: MemoryNetwork | None = None) -> AsyncIterator[list[Node]]:
    """Nodes, the first of which is linked to all others."""
    network = network or MemoryNetwork(seed=1)
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            transport = await stack.enter_async_context(network.open(secret(number)))
            made.append(Node(transport, BlobService(transport, store_at(path / str(number)), rng=Random(number))))
        for node in made[1:]:
            await made[0].transport.dial(node.transport.addresses()[0])
        yield made


async def link_all(made: Iterable[Node]) -> None:
    """Links each node to each other."""
    for node in made:
        for other in made:
            if other.key != node.key and other.key not in node.transport.peers():
                await node.transport.dial(other.transport.addresses()[0])


def peer_of(blob: bytes, chunk: Callable[[int], Awaitable[bytes]]) -> Answer:
    """A peer that says it has all of a blob, and gives what `chunk` gives for a chunk's index."""
    chunks = chunk_list(blob)
    count = len(chunks.hashes)

    async def answer(peer: bytes, request: bytes) -> bytes:
        match codec.decode(request):
            case {"op": "list"}:
                return chunks.encode()
            case {"op": "have"}:
                return encode_bitmap(range(count), count)
            case {"op": "any", "wants": bytes(wants)}:
                index = next(at for at in range(count) if wants[at // 8] >> at % 8 & 1)
                return index.to_bytes(4, "little") + await chunk(index)
            case {"op": "chunk", "index": int(index)}:
                return await chunk(index)
        raise AssertionError(request)

    return answer


def piece(blob: bytes, index: int) -> bytes:
    """A chunk of a blob."""
    return blob[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]
