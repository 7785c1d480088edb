"""Many peers and one blob: how much the seed uploads, how long all take, and who may leave, lie, stall or come late."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from node.blobs.fetch import BLOB_PROTOCOL
from node.blobs.service import BlobService
from node.peering.call import call, serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.transport import Unreachable
from protocol import codec
from protocol.blob import CHUNK_BYTES, blob_digest
from tests.node.blobs.swarm import Node, distinct_blob, link_all, nodes, peer_of, piece
from tests.node.keys import secret

UPLINK_BYTES_S = 20_000_000 / 8
BLOB = distinct_blob(12)
DIGEST = blob_digest(BLOB)


async def fetch_all(fetchers: Sequence[Node], digest: bytes, within_s: float = 600) -> float:
    """Has all fetch at once; how long the last one took."""
    started = trio.current_time()

    async def fetch(node: Node) -> None:
        await node.service.fetch(digest, node.transport.peers, timeout_s=within_s)

    async with trio.open_nursery() as nursery:
        for node in fetchers:
            nursery.start_soon(fetch, node)
    return trio.current_time() - started


@pytest.mark.parametrize("links", [3, 11], ids=["few links", "all linked"])
async def test_a_seed_gives_each_chunk_about_once(
    links: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    network = MemoryNetwork(seed=3, delay_s=0.02)
    blob = distinct_blob(16)
    async with nodes(tmp_path, 13, network) as (seed, *fetchers):
        rng = Random(links)
        for node in fetchers:
            for other in rng.sample(fetchers, links):
                if other is not node and other.key not in node.transport.peers():
                    await node.transport.dial(other.transport.addresses()[0])
        for node in (seed, *fetchers):
            network.limit_up(node.key, UPLINK_BYTES_S)
        one_copy_s = len(blob) / UPLINK_BYTES_S
        took_s = await fetch_all(fetchers, seed.store.put(blob))
        assert took_s < 2.4 * one_copy_s
        assert seed.service.sent_bytes < 2 * len(blob)
        assert sum(node.service.sent_bytes for node in (seed, *fetchers)) < 1.15 * len(blob) * len(fetchers)


async def test_the_seed_leaves_when_fellows_have_all_chunks_together(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    network = MemoryNetwork(seed=4)
    async with nodes(tmp_path, 5, network) as (seed, *fetchers):
        await link_all(fetchers)
        for node in (seed, *fetchers):
            network.limit_up(node.key, UPLINK_BYTES_S)
        seed.store.put(BLOB)

        async def leave() -> None:
            while not _are_all_there(fetchers):
                await trio.sleep(0.05)
            assert not any(node.store.has(DIGEST) for node in fetchers)
            network.kill(seed.key)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave)
            await fetch_all(fetchers, DIGEST)
        assert all(node.store.get(DIGEST) == BLOB for node in fetchers)


def _are_all_there(fetchers: Sequence[Node]) -> bool:
    parts = [node.service._parts.get(DIGEST) for node in fetchers]
    held: set[int] = set().union(*(part.held for part in parts if part is not None))
    return len(held) == 12


async def test_a_liar_among_five(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    told: list[bytes] = []
    asked = 0

    async def lie(index: int) -> bytes:
        nonlocal asked
        asked += 1
        return bytes(CHUNK_BYTES)

    async with nodes(tmp_path, 6) as (mine, liar, *honest):
        serve_calls(liar.transport, BLOB_PROTOCOL, peer_of(BLOB, lie))
        mine.service.report = lambda peer, reason: told.append(peer)
        for node in honest:
            node.store.put(BLOB)
        assert await mine.service.fetch(DIGEST, mine.transport.peers) == BLOB
        assert mine.service.liars == set(told) == {liar.key}
        before = asked
        mine.store.delete(DIGEST)
        assert await mine.service.fetch(DIGEST, [liar.key, honest[0].key]) == BLOB
        assert asked == before
        mine.store.delete(DIGEST)
        with pytest.raises(Unreachable):
            await mine.service.fetch(DIGEST, [liar.key])


async def test_list_of_another_blob_is_a_lie(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async def honest_chunk(index: int) -> bytes:
        return piece(BLOB, index)

    async with nodes(tmp_path, 3) as (mine, liar, honest):
        serve_calls(liar.transport, BLOB_PROTOCOL, peer_of(b"another", honest_chunk))
        honest.store.put(BLOB)
        assert await mine.service.fetch(DIGEST, [liar.key, honest.key]) == BLOB
        assert mine.service.liars == {liar.key}


async def test_what_is_there_is_served_at_once(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork(seed=5)
    began: list[float] = []
    async with nodes(tmp_path, 3, network) as (fellow, seed, newcomer):
        network.limit_up(seed.key, UPLINK_BYTES_S)
        seed.store.put(BLOB)
        async with trio.open_nursery() as nursery:

            async def fetch() -> None:
                await fellow.service.fetch(DIGEST, [seed.key], began=lambda: began.append(trio.current_time()))

            started = trio.current_time()
            nursery.start_soon(fetch)
            while not fellow.service.sent_bytes:
                await trio.sleep(0.2)
                if began and newcomer.service.fetching == ():
                    nursery.start_soon(newcomer.service.fetch, DIGEST, newcomer.transport.peers)
            assert not fellow.store.has(DIGEST)
        assert began[0] - started < 2 * CHUNK_BYTES / UPLINK_BYTES_S + 0.5
        assert newcomer.store.get(DIGEST) == BLOB, "its one peer had no more than chunks at first"


async def test_holders_that_connect_meanwhile_help(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork(seed=6)
    async with nodes(tmp_path, 2, network) as (mine, slow), network.open(secret(7)) as transport:
        late = BlobService(transport, type(mine.store)(tmp_path / "late" / "public"))
        network.limit_up(slow.key, CHUNK_BYTES / 8)
        for store in (slow.store, late.store):
            store.put(BLOB)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fetch_all, [mine], DIGEST)
            await trio.sleep(10)
            assert not mine.store.has(DIGEST)
            await mine.transport.dial(transport.addresses()[0])
            await trio.sleep(10)
            assert mine.store.get(DIGEST) == BLOB
            nursery.cancel_scope.cancel()


async def test_killed_and_begun_again(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork(seed=7)
    async with nodes(tmp_path, 2, network) as (mine, seed):
        network.limit_up(seed.key, UPLINK_BYTES_S)
        seed.store.put(BLOB)
        with trio.move_on_after(2.5):
            await mine.service.fetch(DIGEST, [seed.key])
        before = seed.service.sent_bytes
        assert 3 * CHUNK_BYTES <= before < len(BLOB)
        again = BlobService(mine.transport, mine.store)
        assert await again.fetch(DIGEST, [seed.key]) == BLOB
        assert seed.service.sent_bytes <= len(BLOB) + 5 * CHUNK_BYTES, "what was on its way at the kill comes again"


async def test_a_slow_reader_stops_nobody(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with nodes(tmp_path, 4) as (seed, *others):
        seed.store.put(BLOB)
        request = codec.encode({"digest": DIGEST, "index": 0, "op": "chunk"})
        slow_send = trio.Event()
        serve = seed.service._serve

        class Slow:
            """A stream whose reader takes nothing."""

            def __init__(self, stream: object) -> None:
                self.peer = others[0].key
                self.receive = stream.receive  # type: ignore[attr-defined]

            async def send(self, frame: bytes) -> None:
                slow_send.set()
                await trio.sleep_forever()

        async def serve_slowly(stream: object) -> None:
            is_slow = stream.peer == others[0].key  # type: ignore[attr-defined]
            await serve(Slow(stream) if is_slow else stream)  # type: ignore[arg-type]

        seed.transport.serve(BLOB_PROTOCOL, serve_slowly)
        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(_call_forever, others[0], seed.key, request)
            await slow_send.wait()
            assert await fetch_all(others[1:], DIGEST) < 30
            nursery.cancel_scope.cancel()


async def _call_forever(node: Node, peer: bytes, request: bytes) -> None:
    await call(node.transport, peer, BLOB_PROTOCOL, request, timeout_s=1000)
