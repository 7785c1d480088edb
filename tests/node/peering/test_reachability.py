"""Places at relays: who asks for them, when, and what comes of it, on a virtual clock."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import pytest
import trio
import trio.testing

from node.peering.call import call, serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.reachability import RELAYS, RENEW_S, WAIT_S, Reachability, UseRelays
from node.peering.transport import RESERVED_S, Unreachable
from tests.node.keys import secret

ECHO = "/gonode/echo/1"


class Told:
    """Events, noted."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, event: str, text: str, **values: object) -> None:
        self.names.append(event)


@asynccontextmanager
async def network_of(count: int) -> AsyncIterator[tuple[MemoryNetwork, list[MemoryTransport]]]:
    """A network whose node 0 is hidden and linked to all others, which relay, but for the last one."""
    network = MemoryNetwork()
    async with AsyncExitStack() as stack:
        nodes = [await stack.enter_async_context(network.open(secret(n + 1))) for n in range(count)]
        network.hide(nodes[0].key)
        for node in nodes[1:]:
            if node is not nodes[-1]:
                node.serve_relay()
            await nodes[0].dial(node.addresses()[0])
        yield network, nodes


@asynccontextmanager
async def kept(node: MemoryTransport, use: UseRelays) -> AsyncIterator[Told]:
    told = Told()
    reachability = Reachability(node, use, told, Random(1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reachability.run)
        yield told
        nursery.cancel_scope.cancel()


async def test_a_node_that_nobody_dials_is_reached_in_the_end(autojump_clock: trio.testing.MockClock) -> None:
    async with network_of(5) as (_, nodes), kept(nodes[0], UseRelays.AUTO) as told:
        hidden, stranger = nodes[0], nodes[-1]

        async def echo(peer: bytes, request: bytes) -> bytes:
            return request

        serve_calls(hidden, ECHO, echo)
        await trio.sleep(WAIT_S - 10)
        assert hidden.addresses()[1:] == ()
        await trio.sleep(30)
        assert len(nodes[0].relays()) == RELAYS == len(hidden.addresses()) - 1
        assert told.names == ["relayed"] * RELAYS
        await hidden.disconnect(stranger.key)
        direct, *circuits = hidden.addresses()
        with pytest.raises(Unreachable):
            await stranger.dial(direct)
        assert await stranger.dial(circuits[0]) == hidden.key
        assert await call(stranger, hidden.key, ECHO, b"x") == b"x"
        assert not hidden.is_dialed()


async def test_places_are_kept_and_lost_ones_replaced(autojump_clock: trio.testing.MockClock) -> None:
    async with network_of(6) as (network, nodes), kept(nodes[0], UseRelays.ALWAYS) as told:
        await trio.sleep(10)
        first = nodes[0].relays()
        await trio.sleep(2 * RESERVED_S + RENEW_S)
        assert nodes[0].relays() == first
        assert len(nodes[0].addresses()) == 1 + RELAYS
        again = sorted(first)[1]
        await nodes[0].disconnect(again)  # and back before anybody looks: the place is lost all the same
        await nodes[0].dial(network.node(again).addresses()[0])  # type: ignore[union-attr]
        assert len(nodes[0].relays()) == RELAYS - 1
        await trio.sleep(30)
        assert len(nodes[0].relays()) == RELAYS
        count = len(told.names)
        network.kill(sorted(first)[0])
        await trio.sleep(30)
        assert len(nodes[0].relays()) == RELAYS
        assert sorted(first)[0] not in nodes[0].relays()
        assert told.names == ["relayed"] * (count + 1)


async def test_a_node_that_is_dialed_asks_nobody(autojump_clock: trio.testing.MockClock) -> None:
    async with network_of(4) as (_, nodes), kept(nodes[1], UseRelays.AUTO) as told:
        assert nodes[1].is_dialed()
        await trio.sleep(10 * WAIT_S)
        assert nodes[1].relays() == frozenset()
        assert told.names == []


async def test_a_node_without_links_waits_for_them(autojump_clock: trio.testing.MockClock) -> None:
    async with network_of(4) as (_, nodes):
        hidden = nodes[0]
        for node in nodes[1:]:
            await hidden.disconnect(node.key)
        async with kept(hidden, UseRelays.AUTO):
            await trio.sleep(5 * WAIT_S)
            await hidden.dial(nodes[1].addresses()[0])
            await trio.sleep(WAIT_S - 10)
            assert hidden.relays() == frozenset()
            await trio.sleep(30)
            assert hidden.relays() == {nodes[1].key}


async def test_never_is_never(autojump_clock: trio.testing.MockClock) -> None:
    async with network_of(4) as (_, nodes), kept(nodes[0], UseRelays.NEVER):
        await trio.sleep(10 * WAIT_S)
        assert nodes[0].relays() == frozenset()


async def test_who_gives_no_place_is_not_asked_again_at_once(autojump_clock: trio.testing.MockClock) -> None:
    async with network_of(2) as (_, nodes):
        asked = 0
        reserve = nodes[0].reserve

        async def counting(relay: bytes) -> None:
            nonlocal asked
            asked += 1
            await reserve(relay)

        nodes[0].reserve = counting  # type: ignore[method-assign]
        async with kept(nodes[0], UseRelays.ALWAYS):
            await trio.sleep(900)
        assert 2 <= asked <= 6
