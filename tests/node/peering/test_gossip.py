"""Gossip: hints that arrive when they can, once, from those who may."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import trio
import trio.testing

from node.peering.gossip import MAX_HEAD_BYTES, REPEAT_S, Gossip, HaveList
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from tests.node.keys import secret

RUN = bytes(range(32))
STRANGER = secret(9)


class Ear:
    """One node's gossip and the heads that it heard."""

    def __init__(self, transport: MemoryTransport, number: int) -> None:
        self.heads: list[bytes] = []
        self.transport = transport
        self.gossip = Gossip(
            transport,
            secret(number),
            RUN,
            knows=lambda key: key != STRANGER.public,
            on_head=self.heads.append,
            now_ms=lambda: int(trio.current_time() * 1000),
        )


@asynccontextmanager
async def ears(loss: float = 0.0) -> AsyncIterator[list[Ear]]:
    network = MemoryNetwork(seed=2, loss=loss)
    async with AsyncExitStack() as stack:
        nursery = await stack.enter_async_context(trio.open_nursery())
        made: list[Ear] = []
        for number in range(3):
            made.append(Ear(await stack.enter_async_context(network.open(secret(number))), number))
            nursery.start_soon(made[-1].gossip.run)
        for ear in made[1:]:
            await made[0].transport.dial(ear.transport.addresses()[0])
        yield made
        nursery.cancel_scope.cancel()


async def test_heads_are_told_once_and_the_newest_wins(autojump_clock: trio.testing.MockClock) -> None:
    async with ears() as (mine, a, b):
        for number in range(5):
            mine.gossip.announce_head(b"head %d" % number)
        await trio.sleep(5 * REPEAT_S)
        assert a.heads == b.heads == [b"head 4"]
        assert mine.heads == []
        mine.gossip.announce_head(bytes(MAX_HEAD_BYTES + 1))
        await trio.sleep(REPEAT_S)
        assert len(a.heads) == 1


async def test_repeats_get_through_loss(autojump_clock: trio.testing.MockClock) -> None:
    async with ears(loss=0.8) as (mine, a, b):
        mine.gossip.announce_head(b"head")
        await trio.sleep(60 * REPEAT_S)
        assert a.heads == b.heads == [b"head"]


async def test_have_lists(autojump_clock: trio.testing.MockClock) -> None:
    x, y, z = (bytes([number]) * 32 for number in range(3))
    async with ears() as (mine, a, b):
        a.gossip.announce_have([x, y])
        b.gossip.announce_have([y])
        await trio.sleep(2)
        assert mine.gossip.holders(x) == (a.transport.key,)
        assert set(mine.gossip.holders(y)) == {a.transport.key, b.transport.key}
        a.gossip.announce_have([z])
        await trio.sleep(2)
        assert mine.gossip.holders(x) == ()
        assert mine.gossip.holders(z) == (a.transport.key,)


async def test_false_have_lists_change_nothing(autojump_clock: trio.testing.MockClock) -> None:
    digest = bytes(32)
    topic = f"gonode/{RUN.hex()[:16]}/have"
    async with ears() as (mine, a, _):
        good = HaveList(RUN, 5, (digest,))
        for data in (
            b"nonsense",
            good.seal(STRANGER).encode(),
            HaveList(bytes(32), 5, (digest,)).seal(secret(1)).encode(),
            good.seal(secret(1), STRANGER).encode(),
        ):
            await a.transport.publish(topic, data)
        await trio.sleep(1)
        assert mine.gossip.holders(digest) == ()
        await a.transport.publish(topic, good.seal(secret(1)).encode())
        await a.transport.publish(topic, HaveList(RUN, 4, ()).seal(secret(1)).encode())
        await trio.sleep(1)
        assert mine.gossip.holders(digest) == (a.transport.key,)


async def test_each_publisher_has_its_rate(autojump_clock: trio.testing.MockClock) -> None:
    topic = f"gonode/{RUN.hex()[:16]}/heads"
    async with ears() as (_, a, b):
        for number in range(200):
            await a.transport.publish(topic, b"%d" % number)
        await b.transport.publish(topic, b"quiet")
        await trio.sleep(1)
        assert 20 <= len(b.heads) < 30
        assert b"quiet" in a.heads
