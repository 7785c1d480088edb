"""Blobs: the store on disk, and fetching from several peers, liars among them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from node.blobs.service import BLOB_PROTOCOL, BlobService
from node.disk.blob_store import BlobStore
from node.peering.call import serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.transport import Timeout, TooMuch, Unreachable
from protocol import codec
from protocol.blob import CHUNK_BYTES, blob_digest, chunk_list
from tests.node.keys import secret

BLOB = Random(5).randbytes(5 * CHUNK_BYTES + 1234)


def store_at(path: Path) -> BlobStore:
    return BlobStore(path / "public")


@asynccontextmanager
async def nodes(path: Path, count: int) -> AsyncIterator[list[tuple[MemoryTransport, BlobService]]]:
    """Nodes, the first of which is linked to all others; each has an own, empty store."""
    network = MemoryNetwork(seed=1)
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            transport = await stack.enter_async_context(network.open(secret(number)))
            made.append((transport, BlobService(transport, store_at(path / str(number)))))
        for transport, _ in made[1:]:
            await made[0][0].dial(transport.addresses()[0])
        yield made


def test_store(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    digest = store.put(BLOB)
    assert digest == blob_digest(BLOB) == store.put(BLOB)
    empty = store.put(b"")
    assert store.has(digest)
    assert store.get(digest) == BLOB
    assert store.get(empty) == b""
    assert store.get(bytes(32)) is None
    assert sorted(store.digests()) == sorted([digest, empty])
    assert store.chunks(digest) == chunk_list(BLOB)
    assert store.chunk(digest, 5) == BLOB[5 * CHUNK_BYTES :]
    assert {path.name for path in (tmp_path / "public").rglob("*") if path.is_file()} == {digest.hex(), empty.hex()}
    store.delete(digest)
    store.delete(digest)
    assert list(store.digests()) == [empty]


@pytest.mark.parametrize("reader", ["get", "chunks"])
def test_damaged_blob_is_missing(tmp_path: Path, reader: str) -> None:
    store = store_at(tmp_path)
    digest = store.put(BLOB)
    data = bytearray(BLOB)
    data[CHUNK_BYTES + 5] ^= 1
    store.path(digest).write_bytes(data)
    assert getattr(store, reader)(digest) is None
    assert not store.has(digest)
    assert store.put(BLOB) == digest
    assert store.get(digest) == BLOB


async def test_fetch_from_one_and_from_many(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 4) as made:
        (_, mine), *others = made
        digest = blob_digest(BLOB)
        for _, service in others:
            assert service.store.put(BLOB) == digest
        assert await mine.fetch(digest, [others[0][0].key]) == BLOB
        mine.store.delete(digest)
        assert await mine.fetch(digest, [transport.key for transport, _ in others]) == BLOB
        assert await mine.fetch(digest, []) == BLOB
        assert not list(mine.store.partial.glob("*.part"))
        empty = others[0][1].store.put(b"")
        assert await mine.fetch(empty, [others[1][0].key, others[0][0].key]) == b""


async def test_fetches_of_one_blob_share(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 2) as made:
        (_, mine), (other, theirs) = made
        digest = theirs.store.put(BLOB)
        results: list[bytes] = []

        async def fetch() -> None:
            results.append(await mine.fetch(digest, [other.key]))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(fetch)
        assert results == [BLOB] * 3


async def test_limits_and_absence(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 2) as made:
        (transport, mine), (other, theirs) = made
        digest = theirs.store.put(BLOB)
        with pytest.raises(TooMuch):
            await mine.fetch(digest, [other.key], max_bytes=len(BLOB) - 1)
        with pytest.raises(Unreachable, match="None of 1 peers"):
            await mine.fetch(bytes(32), [other.key])
        with pytest.raises(Unreachable):
            await mine.fetch(digest, [transport.key, secret(9).public])
        await theirs.fetch(digest, [])


async def test_liar_is_dropped_and_others_finish(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    asked = 0

    async def lie(peer: bytes, request: bytes) -> bytes:
        nonlocal asked
        asked += 1
        match codec.decode(request):
            case {"op": "list"}:
                return chunk_list(BLOB).encode()
            case {"index": int(index)}:
                return bytes(chunk_list(BLOB).chunk_bytes(index))
        raise AssertionError

    async with nodes(tmp_path, 3) as made:
        (_, mine), (liar, _), (honest, theirs) = made
        serve_calls(liar, BLOB_PROTOCOL, lie)
        digest = theirs.store.put(BLOB)
        assert await mine.fetch(digest, [liar.key, honest.key]) == BLOB
        assert mine.liars == {liar.key}
        mine.store.delete(digest)
        before = asked
        assert await mine.fetch(digest, [liar.key, honest.key]) == BLOB
        assert asked == before
        mine.store.delete(digest)
        with pytest.raises(Unreachable):
            await mine.fetch(digest, [liar.key])


async def test_list_of_another_blob_is_a_lie(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async def lie(peer: bytes, request: bytes) -> bytes:
        return chunk_list(b"another").encode()

    async with nodes(tmp_path, 3) as made:
        (_, mine), (liar, _), (honest, theirs) = made
        serve_calls(liar, BLOB_PROTOCOL, lie)
        digest = theirs.store.put(BLOB)
        assert await mine.fetch(digest, [liar.key, honest.key]) == BLOB
        assert mine.liars == {liar.key}


async def test_silent_peer_is_overtaken(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async def silent(peer: bytes, request: bytes) -> bytes:
        match codec.decode(request):
            case {"op": "list"}:
                return chunk_list(BLOB).encode()
        await trio.sleep_forever()
        return b""

    async with nodes(tmp_path, 3) as made:
        (_, mine), (mute, _), (honest, theirs) = made
        serve_calls(mute, BLOB_PROTOCOL, silent)
        digest = theirs.store.put(BLOB)
        assert await mine.fetch(digest, [mute.key, honest.key], timeout_s=100) == BLOB
        assert not mine.liars
        mine.store.delete(digest)
        with pytest.raises(Timeout):
            await mine.fetch(digest, [mute.key], timeout_s=15)


async def test_fetch_goes_on_where_it_stopped(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    served: list[int] = []
    limit = 3

    async def some(peer: bytes, request: bytes) -> bytes:
        match codec.decode(request):
            case {"op": "list"}:
                return chunk_list(BLOB).encode()
            case {"index": int(index)} if len(served) < limit:
                served.append(index)
                return BLOB[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]
        await trio.sleep_forever()
        return b""

    async with nodes(tmp_path, 2) as made:
        (transport, mine), (other, _) = made
        serve_calls(other, BLOB_PROTOCOL, some)
        digest = blob_digest(BLOB)
        with pytest.raises(Timeout):
            await mine.fetch(digest, [other.key], timeout_s=10)
        limit = 100
        first = list(served)
        damaged = mine.store.partial_path(digest, "part")
        data = bytearray(damaged.read_bytes())
        data[first[0] * CHUNK_BYTES] ^= 1
        damaged.write_bytes(data)
        again = BlobService(transport, mine.store)
        assert await again.fetch(digest, [other.key]) == BLOB
        assert sorted(served[3:]) == sorted({*range(6)} - {*first} | {first[0]})


async def test_damaged_blob_is_not_served(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 3) as made:
        (_, mine), (other, theirs), (honest, good) = made
        digest = theirs.store.put(BLOB)
        good.store.put(BLOB)
        assert await mine.fetch(digest, [other.key]) == BLOB
        mine.store.delete(digest)
        theirs.store.path(digest).write_bytes(bytes(len(BLOB)))
        assert await mine.fetch(digest, [other.key, honest.key]) == BLOB
        assert not mine.liars
        assert not theirs.store.has(digest)


@pytest.mark.parametrize(
    "request_value",
    [
        {},
        {"op": "list"},
        {"op": "list", "digest": b"short"},
        {"op": "chunk", "digest": bytes(32)},
        {"op": "chunk", "digest": bytes(32), "index": -1},
        {"op": "chunk", "digest": bytes(32), "index": 2**63},
        {"op": "other", "digest": bytes(32)},
        [],
    ],
)
async def test_bad_requests_are_refused(
    request_value: codec.Value, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    from node.peering.call import CallRefused, call

    async with nodes(tmp_path, 2) as made:
        (mine, _), (other, _) = made
        with pytest.raises(CallRefused):
            await call(mine, other.key, BLOB_PROTOCOL, codec.encode(request_value))
        with pytest.raises(CallRefused):
            await call(mine, other.key, BLOB_PROTOCOL, b"\xc1")
        assert not other.faults()
