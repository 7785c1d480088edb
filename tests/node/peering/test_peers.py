"""The peer table and the links: who is dialed when."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from node.disk.store import PeerRecord, Store
from node.peering.call import CallRefused, call
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.peers import ASK_S, MAX_KNOWN, PEERS_PROTOCOL, Links, PeerTable, backoff_s
from node.peering.transport import peer_id
from protocol import codec
from tests.node.keys import secret


def address(number: int, host: str = "10.0.0.1") -> str:
    return f"/ip4/{host}/tcp/4001/p2p/{peer_id(secret(number).public)}"


def table_at(store: Store, own: int = 0) -> PeerTable:
    return PeerTable(store, secret(own).public, lambda: 1_000_000.0, Random(1))


async def test_table(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        assert table.next([]) is None
        table.learn([address(0), "nonsense", "/p2p/x", address(1) + "\n", "/" + "x" * 300 + address(1)])
        assert table.next([]) is None
        table.learn([address(1), address(1, "10.0.0.2"), address(2)])
        table.worked(address(2))
        assert table.next([]) == address(2)
        assert table.next([secret(2).public]) in (address(1), address(1, "10.0.0.2"))
        assert table.next([secret(1).public, secret(2).public]) is None
        assert table.good(10) == [address(2)]
        assert table_at(store).good(10) == [address(2)]


async def test_failures_wait_and_are_forgotten_but_fixed_ones(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn([address(1)], fixed=True)
        table.learn([address(2)])
        for _ in range(20):
            for each in (1, 2):
                table.failed(address(each))
            assert table.next([]) is None
            await trio.sleep(100)
            assert table.next([]) is not None
            assert table.next([], fixed=True) == address(1)
        assert [peer.address for peer in store.peers()] == [address(1)]
        table.worked(address(1))
        assert store.peers() == [PeerRecord(address(1), secret(1).public, 1_000_000, 1, 0)]


def test_backoff_grows_with_jitter() -> None:
    rng = Random(7)
    for failures in range(1, 12):
        waits = [backoff_s(failures, rng) for _ in range(200)]
        full = min(2.0 ** (failures - 1), 60)
        assert 0.5 * full <= min(waits) < 0.6 * full
        assert 1.4 * full < max(waits) <= 1.5 * full


async def test_table_is_bounded(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store, store.transaction():
        table = table_at(store)
        table.learn(address(1, f"10.0.{number // 200}.{number % 200}") for number in range(MAX_KNOWN + 50))
        assert len(store.peers()) == MAX_KNOWN


@asynccontextmanager
async def linked(path: Path, count: int) -> AsyncIterator[tuple[MemoryNetwork, list[MemoryTransport]]]:
    """Nodes with running links that all know the first one only."""
    network = MemoryNetwork()
    async with AsyncExitStack() as stack:
        nursery = await stack.enter_async_context(trio.open_nursery())
        made: list[MemoryTransport] = []
        for number in range(count):
            transport = await stack.enter_async_context(network.open(secret(number)))
            store = stack.enter_context(Store(path / str(number) / "node.db"))
            table = table_at(store, number)
            links = Links(transport, table)
            if made:
                table.learn(made[0].addresses(), fixed=True)
            made.append(transport)
            nursery.start_soon(links.run)
        yield network, made
        nursery.cancel_scope.cancel()


async def test_nodes_find_each_other_through_one(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with linked(tmp_path, 8) as (_, made):
        await trio.sleep(3 * ASK_S)
        assert len(made[0].peers()) == 7
        assert all(len(transport.peers()) >= 4 for transport in made)


async def test_fixed_peer_is_always_wanted(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with linked(tmp_path, 8) as (_, made):
        await trio.sleep(3 * ASK_S)
        for transport in made[1:]:
            await transport.disconnect(made[0].key)
        assert made[0].peers() == ()
        await trio.sleep(5)
        assert len(made[0].peers()) == 7


async def test_silent_link_is_dropped_and_made_again(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with linked(tmp_path, 2) as (network, made):
        await trio.sleep(5)
        network.partition([made[0].key])
        await trio.sleep(3 * ASK_S + 10)
        assert made[1].peers() == ()
        network.heal()
        await trio.sleep(120)
        assert made[1].peers() == (made[0].key,)


async def test_exceptions_leave_alone(autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(KeyError):
        async with MemoryNetwork().open(secret(1)):
            raise KeyError


async def test_exchange_takes_own_addresses_only(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with linked(tmp_path, 1) as (network, made), network.open(secret(50)) as stranger:
        with Store(tmp_path / "0" / "node.db") as store:
            await stranger.dial(made[0].addresses()[0])
            request = codec.encode({"addresses": [address(50), address(51), "nonsense"]})
            await call(stranger, made[0].key, PEERS_PROTOCOL, request)
            assert [peer.address for peer in store.peers()] == [address(50)]
            for bad in ({}, {"addresses": [1]}, {"addresses": [address(50)] * 9}, {"addresses": ["x" * 300]}):
                with pytest.raises(CallRefused):
                    await call(stranger, made[0].key, PEERS_PROTOCOL, codec.encode(bad))
