"""A fetch among many peers that show a whole blob and never give a chunk."""

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from node.blobs.fetch import BLOB_PROTOCOL
from node.blobs.service import BlobService
from node.peering.call import CallRefused, serve_calls
from node.peering.memory.network import MemoryNetwork
from protocol.blob import blob_digest
from tests.node.blobs.swarm import distinct_blob, peer_of, store_at
from tests.node.keys import secret


async def refuse(index: int) -> bytes:
    raise CallRefused("Not now.")


async def stall(index: int) -> bytes:
    await trio.sleep_forever()
    raise AssertionError


@pytest.mark.parametrize(("lie", "within_s"), [(refuse, 10), (stall, 60)])
@pytest.mark.parametrize("chunks", [1, 6])
async def test_liars_keep_nobody_from_an_honest_holder(
    tmp_path: Path,
    autojump_clock: trio.testing.MockClock,
    lie: Callable[[int], Coroutine[Any, Any, bytes]],
    within_s: float,
    chunks: int,
) -> None:
    blob = distinct_blob(chunks)
    me, *liars, honest = sorted((secret(number) for number in range(32)), key=lambda each: each.public)
    network = MemoryNetwork(seed=1)
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(network.open(me))
        fetcher = BlobService(transport, store_at(tmp_path / "me"), rng=Random(1))
        for liar in liars:
            peer = await stack.enter_async_context(network.open(liar))
            serve_calls(peer, BLOB_PROTOCOL, peer_of(blob, lie))
            await transport.dial(peer.addresses()[0])
        peer = await stack.enter_async_context(network.open(honest))
        BlobService(peer, store_at(tmp_path / "honest"), rng=Random(2)).store.put(blob)
        await transport.dial(peer.addresses()[0])
        began = trio.current_time()
        assert await fetcher.fetch(blob_digest(blob), transport.peers) == blob
        assert trio.current_time() - began < within_s
