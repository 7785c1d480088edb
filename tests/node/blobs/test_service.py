"""Blobs between few nodes: fetching, absence, limits, damaged disks, bad requests."""

from pathlib import Path

import pytest
import trio
import trio.testing

from node.blobs.fetch import BLOB_PROTOCOL, Unkept
from node.blobs.service import BlobService
from node.peering.call import CallRefused, call, serve_calls
from node.peering.transport import Timeout, TooMuch, Unreachable
from protocol import codec
from protocol.blob import CHUNK_BYTES, blob_digest
from tests.node.blobs.swarm import distinct_blob, nodes, peer_of, piece
from tests.node.keys import secret

BLOB = distinct_blob(5, 1234)
DIGEST = blob_digest(BLOB)


async def test_fetch_from_one_and_from_many(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 4) as (mine, *others):
        for other in others:
            assert other.store.put(BLOB) == DIGEST
        assert await mine.service.fetch(DIGEST, [others[0].key]) == BLOB
        mine.store.delete(DIGEST)
        assert await mine.service.fetch(DIGEST, [other.key for other in others]) == BLOB
        assert await mine.service.fetch(DIGEST, []) == BLOB
        assert not list(mine.store.partial.iterdir())
        empty = others[0].store.put(b"")
        assert await mine.service.fetch(empty, [others[1].key, others[0].key]) == b""


async def test_fetches_of_one_blob_share(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 2) as (mine, other):
        other.store.put(BLOB)
        results: list[bytes] = []

        async def fetch() -> None:
            results.append(await mine.service.fetch(DIGEST, [other.key]))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(fetch)
        assert results == [BLOB] * 3
        assert other.service.sent_bytes == len(BLOB)


async def test_limits_and_absence(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 2) as (mine, other):
        other.store.put(BLOB)
        with pytest.raises(TooMuch):
            await mine.service.fetch(DIGEST, [other.key], max_bytes=len(BLOB) - 1)
        with pytest.raises(Unreachable, match="None of 1 peers"):
            await mine.service.fetch(bytes(32), [other.key])
        with pytest.raises(Unreachable):
            await mine.service.fetch(DIGEST, [mine.key, secret(9).public])
        await other.service.fetch(DIGEST, [])


async def test_a_holder_is_sought_when_no_peer_has_a_blob(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with nodes(tmp_path, 3) as (_, mine, far):
        far.store.put(BLOB)

        async def seek(digest: bytes) -> list[bytes]:
            assert digest == DIGEST
            return [await mine.transport.dial(far.transport.addresses()[0])]

        with pytest.raises(Unreachable):
            await mine.service.fetch(DIGEST, mine.transport.peers)
        mine.service.seek = seek
        assert await mine.service.fetch(DIGEST, mine.transport.peers) == BLOB


async def test_a_full_disk_is_one_sentence(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 2) as (mine, other):
        other.store.put(BLOB)
        mine.store.partial.mkdir(parents=True)
        mine.store.partial_path(DIGEST, "part").symlink_to("/dev/full")
        with pytest.raises(Unkept, match="cannot be kept"):
            await mine.service.fetch(DIGEST, [other.key])
        mine.store.partial_path(DIGEST, "part").unlink()
        assert await mine.service.fetch(DIGEST, [other.key]) == BLOB


async def test_damaged_blob_is_not_served(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 3) as (mine, other, honest):
        other.store.put(BLOB)
        honest.store.put(BLOB)
        assert await mine.service.fetch(DIGEST, [other.key]) == BLOB
        mine.store.delete(DIGEST)
        other.store.path(DIGEST).write_bytes(bytes(len(BLOB)))
        assert await mine.service.fetch(DIGEST, [other.key, honest.key]) == BLOB
        assert not mine.service.liars
        assert not other.store.has(DIGEST)


async def test_silent_peer_is_overtaken(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async def silent(index: int) -> bytes:
        await trio.sleep_forever()
        return b""

    async with nodes(tmp_path, 3) as (mine, mute, honest):
        serve_calls(mute.transport, BLOB_PROTOCOL, peer_of(BLOB, silent))
        honest.store.put(BLOB)
        assert await mine.service.fetch(DIGEST, [mute.key, honest.key], timeout_s=100) == BLOB
        assert not mine.service.liars
        mine.store.delete(DIGEST)
        with pytest.raises(Timeout):
            await mine.service.fetch(DIGEST, [mute.key], timeout_s=15)


async def test_fetch_goes_on_where_it_stopped(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    served: list[int] = []
    limit = 3

    async def some(index: int) -> bytes:
        if len(served) >= limit:
            await trio.sleep_forever()
        served.append(index)
        return piece(BLOB, index)

    async with nodes(tmp_path, 2) as (mine, other):
        serve_calls(other.transport, BLOB_PROTOCOL, peer_of(BLOB, some))
        with pytest.raises(Timeout):
            await mine.service.fetch(DIGEST, [other.key], timeout_s=10)
        limit = 100
        first = {index for index in range(6) if _is_kept(mine.store.partial_path(DIGEST, "part"), index)}
        assert first
        assert first <= set(served)
        damaged = min(first)
        part = mine.store.partial_path(DIGEST, "part")
        data = bytearray(part.read_bytes())
        data[damaged * CHUNK_BYTES] ^= 1
        part.write_bytes(data)
        served.clear()
        again = BlobService(mine.transport, mine.store)
        assert await again.fetch(DIGEST, [other.key]) == BLOB
        assert set(served) == {*range(6)} - first | {damaged}


def _is_kept(part: Path, index: int) -> bool:
    return part.read_bytes()[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES] == piece(BLOB, index)


@pytest.mark.parametrize(
    "request_value",
    [
        {},
        {"op": "list"},
        {"op": "list", "digest": b"short"},
        {"op": "chunk", "digest": bytes(32)},
        {"op": "chunk", "digest": bytes(32), "index": -1},
        {"op": "chunk", "digest": bytes(32), "index": 2**63},
        {"op": "have", "digest": bytes(32)},
        {"op": "have", "digest": bytes(32), "known": "1"},
        {"op": "any", "digest": bytes(32), "wants": bytes(600)},
        {"op": "other", "digest": bytes(32)},
        [],
    ],
)
async def test_bad_requests_are_refused(
    request_value: codec.Value, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with nodes(tmp_path, 2) as (mine, other):
        with pytest.raises(CallRefused):
            await call(mine.transport, other.key, BLOB_PROTOCOL, codec.encode(request_value))
        with pytest.raises(CallRefused):
            await call(mine.transport, other.key, BLOB_PROTOCOL, b"\xc1")
        assert not other.transport.faults()
