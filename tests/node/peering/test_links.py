"""Links: who is dialed, exchanged and shed, and what graph comes of it."""

import statistics
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from node.disk.store import Store
from node.peering.call import CallRefused, call
from node.peering.links import ASK_S, EXCHANGE_S, LINKS, PEERS_PROTOCOL, PROTECT_S, Links
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.table import PeerTable
from node.peering.transport import Link, peer_id
from protocol import codec
from tests.node.keys import secret


def address(number: int, host: str = "10.0.0.1") -> str:
    return f"/ip4/{host}/tcp/4001/p2p/{peer_id(secret(number).public)}"


@dataclass
class Crowd:
    """Nodes with running links that all know the first one only, which dials nobody."""

    network: MemoryNetwork
    nursery: trio.Nursery
    transports: list[MemoryTransport] = field(default_factory=list)
    links: list[Links] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)

    def graph(self) -> dict[bytes, tuple[bytes, ...]]:
        """Who is linked to whom, of the nodes that run."""
        here = [each for each in self.transports if self.network.node(each.key) is each]
        return {each.key: each.peers() for each in here}

    def chosen(self, number: int) -> list[Link]:
        """The links that a node dialed to others than the first one."""
        made = self.transports[number].links()
        return [link for link in made if link.address is not None and link.peer != self.transports[0].key]


@asynccontextmanager
async def crowd(
    path: Path, count: int, first: dict[str, Any] | None = None, seed: int = 0, **others: Any
) -> AsyncIterator[Crowd]:
    network = MemoryNetwork(seed, delay_s=0.02, jitter_s=0.02)
    async with AsyncExitStack() as stack:
        nursery = await stack.enter_async_context(trio.open_nursery())
        made = Crowd(network, nursery)
        for number in range(count):
            transport = await stack.enter_async_context(network.open(secret(number)))
            store = stack.enter_context(Store(path / str(number) / "node.db"))
            store._db.execute("PRAGMA synchronous = OFF")  # nothing here is killed
            table = PeerTable(store, transport.key, lambda: 1_000_000.0, Random(1000 * seed + number))
            options = others if made.links else {"wanted": 0, **(first or {})}
            links = Links(transport, table, **options)
            if made.links:
                table.learn(made.transports[0].addresses(), fixed=True)
            made.transports.append(transport)
            made.links.append(links)
            made.stores.append(store)
            nursery.start_soon(links.run)
        yield made
        nursery.cancel_scope.cancel()


def reach(graph: dict[bytes, tuple[bytes, ...]], start: bytes) -> dict[bytes, int]:
    """The distance to each node that can be reached."""
    found = {start: 0}
    edge = deque(found)
    while edge:
        key = edge.popleft()
        for peer in graph[key]:
            if peer in graph and peer not in found:
                found[peer] = found[key] + 1
                edge.append(peer)
    return found


def diameter(graph: dict[bytes, tuple[bytes, ...]]) -> int:
    """The longest of all shortest ways; fails when there is none between some two."""
    reached = [reach(graph, key) for key in graph]
    assert all(len(each) == len(graph) for each in reached)
    return max(max(each.values()) for each in reached)


def never() -> bool:
    return False


async def test_nodes_find_each_other_through_one(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 8) as made:
        await trio.sleep(3 * ASK_S)
        assert len(made.transports[0].peers()) == 7
        assert all(len(each.peers()) >= 4 for each in made.transports)


async def test_all_are_linked_when_they_are_few(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 4, wants_fixed=never) as made:
        await trio.sleep(4 * ASK_S)
        assert all(len(each.peers()) == 3 for each in made.transports)


async def test_the_tickets_peer_is_wanted_beyond_the_others(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with crowd(tmp_path, 12) as made:
        await trio.sleep(4 * ASK_S)
        assert all(len(made.chosen(number)) <= LINKS for number in range(1, 12))
        for transport in made.transports[1:]:
            await transport.disconnect(made.transports[0].key)
        assert made.transports[0].peers() == ()
        await trio.sleep(5)
        assert len(made.transports[0].peers()) == 11


async def test_the_tickets_peer_is_one_of_four_where_it_is_not_wanted(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with crowd(tmp_path, 12, wants_fixed=never) as made:
        await trio.sleep(4 * ASK_S)
        for transport in made.transports[1:]:
            await transport.disconnect(made.transports[0].key)
        await trio.sleep(ASK_S)
        assert len(made.transports[0].peers()) <= 2
        for transport in made.transports[1:]:
            assert sum(link.address is not None for link in transport.links()) <= LINKS


async def test_silent_link_is_dropped_and_made_again(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 2) as made:
        await trio.sleep(5)
        made.network.partition([made.transports[0].key])
        await trio.sleep(4 * ASK_S + 20)
        assert made.transports[1].peers() == ()
        made.network.heal()
        await trio.sleep(120)
        assert made.transports[1].peers() == (made.transports[0].key,)


async def test_preferred_peers_and_sought_addresses(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    wanted = {secret(number).public for number in (5, 6, 7)}

    def prefer() -> Collection[bytes]:
        return wanted

    async with crowd(tmp_path, 12, prefer=prefer) as made:
        await trio.sleep(4 * ASK_S)
        for number in range(1, 12):
            for link in made.chosen(number):
                await made.transports[number].disconnect(link.peer)
        await trio.sleep(4 * ASK_S)
        linked = [set(made.transports[number].peers()) >= wanted for number in (1, 2, 3, 4, 8, 9, 10, 11)]
        assert all(linked)

        number = next(n for n in range(1, 12) if len(made.transports[n].peers()) < 11)
        missing = next(each for each in made.transports[1:] if each.key not in made.transports[number].peers())
        if missing.key != made.transports[number].key:
            made.links[number].seek([*missing.addresses(), "nonsense"])
            await trio.sleep(2)
            assert missing.key in made.transports[number].peers()


async def test_links_are_exchanged_now_and_then(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 16) as made:
        await trio.sleep(4 * ASK_S)
        before = [{link.peer for link in made.chosen(number)} for number in range(1, 16)]
        await trio.sleep(3 * EXCHANGE_S)
        after = [{link.peer for link in made.chosen(number)} for number in range(1, 16)]
        assert all(len(each) <= LINKS for each in after)
        changed = statistics.mean(len(old - new) for old, new in zip(before, after, strict=True))
        assert 1 <= changed <= LINKS


@pytest.mark.parametrize("seed", [0, 1])
async def test_a_hundred_nodes_make_a_small_world(
    seed: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with crowd(tmp_path, 100, seed=seed, wants_fixed=never) as made:
        await trio.sleep(5 * ASK_S)
        others = made.graph()
        del others[made.transports[0].key]
        assert diameter(others) <= 6
        degrees = [len(set(peers) & set(others)) for peers in others.values()]
        assert min(degrees) >= LINKS - 1
        assert max(degrees) <= 24
        assert statistics.mean(degrees) <= 2 * LINKS

        dead = [0, *Random(seed).sample(range(1, 100), 33)]
        for number in dead:
            made.network.kill(made.transports[number].key)
        await trio.sleep(4 * ASK_S)
        graph = made.graph()
        assert len(graph) == 66
        assert diameter(graph) <= 6
        assert min(map(len, graph.values())) >= LINKS - 1


async def test_halves_that_were_apart_find_each_other(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 40, wants_fixed=never) as made:
        await trio.sleep(4 * ASK_S)
        made.network.kill(made.transports[0].key)
        half = {each.key for each in made.transports[1:20]}
        made.network.partition(half)
        await trio.sleep(400)
        graph = made.graph()
        assert not any(set(peers) - half for key, peers in graph.items() if key in half)
        made.network.heal()
        await trio.sleep(EXCHANGE_S)
        assert diameter(made.graph()) <= 6


async def test_a_full_node_sheds_the_oldest_but_those_protected(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with crowd(tmp_path, 1, first={"capacity": 16}) as made, AsyncExitStack() as stack:
        full, links = made.transports[0], made.links[0]
        keys = []
        for number in range(100, 113):
            transport = await stack.enter_async_context(made.network.open(secret(number)))
            await transport.dial(full.addresses()[0])
            keys.append(transport.key)
            await trio.sleep(1)
            if number == 101:
                links.protect(transport.key)
            assert len(full.peers()) <= 13
        assert set(full.peers()) == {keys[1], *keys[-7:]}
        await trio.sleep(PROTECT_S)
        for transport in list(made.transports):
            assert len(transport.peers()) <= 12


class FromHosts:
    """Of a transport: links from hosts, which it has until it is told to end them."""

    key = secret(0).public

    def __init__(self, hosts: str) -> None:
        self._links = {bytes([number]): Link(bytes([number]), None, number, host) for number, host in enumerate(hosts)}

    def serve(self, protocol: str, handler: object) -> None:
        pass

    def links(self) -> tuple[Link, ...]:
        return tuple(self._links.values())

    async def disconnect(self, peer: bytes) -> None:
        del self._links[peer]


async def test_who_comes_from_one_host_with_many_is_shed_first(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    transport = FromHosts("abcxxxxxdxyyye")
    with Store(tmp_path / "node.db") as store:
        table = PeerTable(store, transport.key, lambda: 1.0, Random(1))
        links = Links(transport, table, wanted=0, capacity=16)  # type: ignore[arg-type]
        await links._shed()
    assert "".join(link.host for link in transport.links()) == "abcdxyye"


async def test_a_shed_node_has_others(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 40, first={"capacity": 24}, wants_fixed=never) as made:
        await trio.sleep(10 * ASK_S)
        assert len(made.transports[0].peers()) <= 18
        others = made.graph()
        assert diameter(others) <= 5
        assert min(map(len, others.values())) >= LINKS - 1


async def test_nobody_is_dialed_twice_at_once(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 6) as made:
        node, links = made.transports[1], made.links[1]
        busy: list[str] = []
        most = 0
        dial: Callable[[str], Any] = node.dial

        async def watched(address: str) -> bytes:
            nonlocal most
            busy.append(address)
            most = max(most, len(busy))
            try:
                key: bytes = await dial(address)
                return key
            finally:
                busy.remove(address)

        node.dial = watched  # type: ignore[method-assign]
        links.seek(address for each in made.transports for address in each.addresses())
        links.seek([address(60), address(60), address(61)])
        await trio.sleep(5 * ASK_S)
        assert most == 1


async def test_exchange_takes_own_addresses_only(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 1) as made, made.network.open(secret(50)) as stranger:
        await stranger.dial(made.transports[0].addresses()[0])
        request = codec.encode({"addresses": [address(50), address(51), "nonsense"]})
        answer = await call(stranger, made.transports[0].key, PEERS_PROTOCOL, request)
        assert codec.decode(answer) == {"addresses": []}  # nobody is told of itself
        assert [peer.address for peer in made.stores[0].peers()] == [address(50)]
        for bad in ({}, {"addresses": [1]}, {"addresses": [address(50)] * 9}, {"addresses": ["x" * 300]}):
            with pytest.raises(CallRefused):
                await call(stranger, made.transports[0].key, PEERS_PROTOCOL, codec.encode(bad))


async def test_announced_addresses_are_told(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 2, announce=["/ip4/203.0.113.5/tcp/4001"]) as made:
        await trio.sleep(5)
        assert [peer.address for peer in made.stores[0].peers()] == [address(1, "203.0.113.5")]


async def test_refused_peers_are_not_dialed(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with crowd(tmp_path, 6) as made:
        bad = made.transports[3].key
        made.transports[1].refuse = lambda key: key == bad
        await trio.sleep(5 * ASK_S)
        assert bad not in made.transports[1].peers()
        assert len(made.transports[1].peers()) == 4
