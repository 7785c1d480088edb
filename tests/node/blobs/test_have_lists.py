"""Have-lists: told on change only, not by everybody, and believed of those only whom the run or a link knows."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count, pairwise
from pathlib import Path
from random import Random

import trio
import trio.testing

from node.blobs.have_lists import ENOUGH, JITTER_S, QUIET_S, HaveList, HaveLists
from node.disk.store import Store
from node.launch import next_number
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from tests.node.keys import secret

RUN = bytes(range(32))
TOPIC = f"gonode/{RUN.hex()[:16]}/have"
KNOWN = secret(2)
X, Y, Z = (bytes([number]) * 32 for number in range(3))


class Node:
    """One node's have-lists."""

    def __init__(self, transport: MemoryTransport, number: int) -> None:
        self.transport = transport
        self.key = transport.key
        self.lists = HaveLists(
            transport,
            secret(number),
            RUN,
            knows=lambda key: key == KNOWN.public,
            next_number=count(1).__next__,
            rng=Random(number),
        )


@asynccontextmanager
async def row(size: int) -> AsyncIterator[list[Node]]:
    """Nodes in a row: each is linked to the next one only."""
    network = MemoryNetwork(seed=2)
    async with AsyncExitStack() as stack:
        nursery = await stack.enter_async_context(trio.open_nursery())
        made: list[Node] = []
        for number in range(size):
            made.append(Node(await stack.enter_async_context(network.open(secret(number))), number))
            nursery.start_soon(made[-1].lists.run)
        for one, other in pairwise(made):
            await one.transport.dial(other.transport.addresses()[0])
        yield made
        nursery.cancel_scope.cancel()


async def test_the_newest_list_counts(autojump_clock: trio.testing.MockClock) -> None:
    async with row(3) as (mine, a, known):
        a.lists.announce([X, Y])
        known.lists.announce([Y])
        await trio.sleep(JITTER_S + 1)
        assert mine.lists.holders(X) == (a.key,)
        assert set(mine.lists.holders(Y)) == {a.key, known.key}
        a.lists.announce([Z])
        await trio.sleep(JITTER_S + QUIET_S + 1)
        assert mine.lists.holders(X) == ()
        assert mine.lists.holders(Z) == (a.key,)


async def test_a_list_is_told_once(autojump_clock: trio.testing.MockClock) -> None:
    async with row(2) as (mine, a):
        told = 0

        async def publish(topic: str, data: bytes) -> None:
            nonlocal told
            told += 1

        a.transport.publish = publish  # type: ignore[method-assign]
        for digests in ([X], [X], [X, X]):
            a.lists.announce(digests)
            await trio.sleep(1000)
        assert told == 1
        del a.transport.publish
        assert mine.lists.holders(X) == ()


async def test_enough_holders_are_enough(autojump_clock: trio.testing.MockClock) -> None:
    async with row(2) as (mine, a):
        for number in range(ENOUGH):
            mine.lists._lists[bytes([number]) * 32] = HaveList(RUN, 1, (X,))
        mine.lists.announce([X])
        await trio.sleep(1000)
        assert a.lists.holders(X) == ()
        mine.lists.announce([Y, X])
        await trio.sleep(1000)
        assert a.lists.holders(Y) == (mine.key,)


async def test_strangers_and_false_lists_are_not_passed_on(autojump_clock: trio.testing.MockClock) -> None:
    async with row(4) as (mine, between, known, stranger):
        stranger.lists.announce([X])  # linked to `known` alone, which believes it and passes it on to who does not
        good = HaveList(RUN, 5, (Y,))
        for data in (
            b"nonsense",
            good.seal(secret(9)).encode(),
            HaveList(bytes(32), 5, (Y,)).seal(KNOWN).encode(),
            good.seal(KNOWN, secret(9)).encode(),
        ):
            await known.transport.publish(TOPIC, data)
        await trio.sleep(JITTER_S + 1)
        assert known.lists.holders(X) == (stranger.key,)
        assert mine.lists.holders(X) == between.lists.holders(X) == ()
        assert mine.lists.holders(Y) == ()
        await known.transport.publish(TOPIC, good.seal(KNOWN).encode())
        await known.transport.publish(TOPIC, HaveList(RUN, 4, ()).seal(KNOWN).encode())
        await trio.sleep(1)
        assert mine.lists.holders(Y) == (known.key,)


def test_numbers_rise_whatever_is_done_to_the_clock(tmp_path: Path) -> None:
    with Store(tmp_path / "node.db") as store:
        clock_s = iter([100.0, 100.0, 9000.0, 50.0])
        numbers = [next_number(store, "have-list", clock_s.__next__) for _ in range(3)]
    with Store(tmp_path / "node.db") as store:
        numbers.append(next_number(store, "have-list", clock_s.__next__))
    assert numbers == [100_000, 100_001, 9_000_000, 9_000_001]
