"""Gossip of heads: hints that arrive when they can, once, from those who may."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import trio
import trio.testing

from node.peering.gossip import MAX_HEAD_BYTES, OF_PUBLISHER, REPEAT_S, Gossip, is_note
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from protocol.checkpoint import Checkpoint
from protocol.seeds import log_origin
from tests.node.keys import secret

RUN = bytes(range(32))
TOPIC = f"gonode/{RUN.hex()[:16]}/heads"


class Ear:
    """One node's gossip and the heads that it heard."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.heads: list[bytes] = []
        self.transport = transport
        self.gossip = Gossip(transport, RUN, on_head=self.heads.append, is_head=lambda data: data.startswith(b"head"))


@asynccontextmanager
async def ears(loss: float = 0.0) -> AsyncIterator[list[Ear]]:
    """Three nodes in a row, the first one in the middle."""
    network = MemoryNetwork(seed=2, loss=loss)
    async with AsyncExitStack() as stack:
        nursery = await stack.enter_async_context(trio.open_nursery())
        made: list[Ear] = []
        for number in range(3):
            made.append(Ear(await stack.enter_async_context(network.open(secret(number)))))
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


async def test_what_is_no_head_is_not_passed_on(autojump_clock: trio.testing.MockClock) -> None:
    async with ears() as (mine, a, b):
        for data in (b"junk", b"head" + bytes(MAX_HEAD_BYTES), b"head 1"):
            await a.transport.publish(TOPIC, data)
        await trio.sleep(1)
        assert mine.heads == b.heads == [b"head 1"]


async def test_each_publisher_has_its_rate(autojump_clock: trio.testing.MockClock) -> None:
    async with ears() as (_, a, b):
        for number in range(200):
            await a.transport.publish(TOPIC, b"head %d" % number)
        await b.transport.publish(TOPIC, b"head, quiet")
        await trio.sleep(1)
        assert 20 <= len(b.heads) < 30
        assert b"head, quiet" in a.heads


async def test_strangers_have_one_rate_together(autojump_clock: trio.testing.MockClock) -> None:
    known = secret(1).public
    heads: list[bytes] = []
    async with MemoryNetwork(seed=2).open(secret(0)) as transport:
        gossip = Gossip(
            transport, RUN, on_head=heads.append, is_head=lambda data: True, is_known=lambda source: source == known
        )
        taken = sum(gossip._accepts(bytes([number]) * 32, b"an old head") for number in range(200))
        assert taken == OF_PUBLISHER[1]
        assert gossip._accepts(known, b"the newest head")


def test_a_note_is_known_by_its_form() -> None:
    note = Checkpoint(log_origin(RUN), 0, bytes(32)).sign(secret(1)).encode()
    assert is_note(note)
    assert not is_note(note[:-30])
    assert not is_note(b"head")
