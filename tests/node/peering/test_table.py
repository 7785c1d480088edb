"""The peer table: what is remembered, whom it says to dial, whom it tells of."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from node.disk.store import PeerRecord, Store
from node.peering.addresses import AnnounceError, check_announced, detour, told_addresses
from node.peering.table import MAX_KNOWN, MAX_OF_HOST, MAX_OWN, PeerTable, backoff_s
from node.peering.transport import peer_id
from tests.node.keys import secret


def address(number: int, host: str = "10.0.0.1", more: str = "") -> str:
    return f"/ip4/{host}/tcp/4001{more}/p2p/{peer_id(secret(number).public)}"


def table_at(store: Store, own: int = 0, seed: int = 1) -> PeerTable:
    return PeerTable(store, secret(own).public, lambda: 1_000_000.0, Random(seed))


def anyone(key: bytes) -> bool:
    return True


def without(*numbers: int) -> object:
    keys = {secret(number).public for number in numbers}
    return lambda key: key not in keys


async def test_what_is_known(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        assert table.next(anyone) is None
        table.learn([address(0), "nonsense", "/p2p/x", address(1) + "\n", "/" + "x" * 300 + address(1)])
        assert table.next(anyone) is None
        table.learn([address(1), address(1, "10.0.0.2"), address(2)])
        table.worked(address(2))
        assert table.next(anyone) == address(2)
        assert table.next(without(2)) == address(1)  # type: ignore[arg-type]
        assert table.next(without(1, 2)) is None  # type: ignore[arg-type]
        assert table.sample(10, anyone) == [address(2)]
        assert table_at(store).sample(10, anyone) == [address(2)]
        assert table.sample(10, without(2)) == []  # type: ignore[arg-type]


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
            assert table.next(anyone) is None
            assert table.next(anyone, fixed=True) is None
            await trio.sleep(100)
            assert table.next(anyone, fixed=True) == address(1)
        assert [peer.address for peer in store.peers()] == [address(1)]
        table.worked(address(1))
        assert store.peers() == [PeerRecord(address(1), secret(1).public, 1_000_000, 1, 0)]


async def test_one_address_of_a_peer_at_a_time_direct_ones_first(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    relayed = f"/ip4/10.0.0.9/tcp/4001/p2p/{peer_id(secret(9).public)}/p2p-circuit/p2p/{peer_id(secret(1).public)}"
    direct, websocket = address(1), address(1, more="/ws")
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn([relayed, websocket, direct])
        tried = []
        for _ in range(3):
            way = table.next(anyone)
            assert way is not None
            tried.append(way)
            table.failed(way)
        assert tried == [direct, websocket, relayed]
        assert table.addresses_of(secret(1).public) == tried
        assert table.next(anyone) is None
        await trio.sleep(10)
        assert table.next(anyone) == direct


async def test_equals_are_drawn_by_lot_and_preferred_ones_first(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn(address(number) for number in range(1, 9))
        drawn = Counter(table.next(anyone) for _ in range(400))
        assert len(drawn) == 8
        assert max(drawn.values()) < 100
        strays = Counter(table.stray(anyone) for _ in range(400))
        assert len(strays) == 8
        table.worked(address(3))
        assert table.next(anyone) == address(3)
        assert table.next(anyone, preferred={secret(5).public}) == address(5)


async def test_what_is_told_is_a_random_choice(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn((address(number) for number in range(1, 41)), seen=True)
        table.learn(address(number) for number in range(41, 60))
        table.failed(address(1))
        told = [table.sample(8, anyone) for _ in range(100)]
        assert all(len(each) == len(set(each)) == 8 for each in told)
        assert {item for each in told for item in each} == {address(number) for number in range(2, 41)}
        first = {secret(7).public, secret(8).public}
        assert set(table.sample(2, anyone, first)) == {address(7), address(8)}


async def test_a_link_that_ends_early_waits_longer_each_time(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn([address(1)])
        waits = []
        for _ in range(6):
            table.worked(address(1))
            table.lost_early(address(1))
            since = trio.current_time()
            while table.next(anyone) is None:
                await trio.sleep(0.5)
            waits.append(trio.current_time() - since)
        assert waits[0] <= 2
        assert waits[-1] >= 15
        table.held(address(1))
        table.lost_early(address(1))
        await trio.sleep(2)
        assert table.next(anyone) == address(1)


def test_backoff_grows_with_jitter() -> None:
    rng = Random(7)
    for failures in range(1, 12):
        waits = [backoff_s(failures, rng) for _ in range(200)]
        full = min(2.0 ** (failures - 1), 60)
        assert 0.5 * full <= min(waits) < 0.6 * full
        assert 1.4 * full < max(waits) <= 1.5 * full


async def test_table_is_bounded(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn(address(1, f"10.0.0.{number}") for number in range(MAX_OWN + 5))
        assert len(store.peers()) == MAX_OWN
        table.learn((address(2),), seen=True)
        table.learn(address(number, f"10.0.{number % 256}.9") for number in range(10, 10 + MAX_KNOWN))
        assert len(store.peers()) == MAX_KNOWN
        full = {peer.address for peer in store.peers()}
        table.learn([address(3)])
        assert {peer.address for peer in store.peers()} == full
        table.learn([address(3)], seen=True)  # who is here pushes out who was only told of
        kept = {peer.address for peer in store.peers()}
        assert len(kept) == MAX_KNOWN
        assert {address(2), address(3)} < kept


async def test_strangers_do_not_fill_the_table(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        reached = [address(number, f"10.1.0.{number}") for number in range(1, 10)]
        table.learn(reached)
        for each in reached:
            table.worked(each)
        for number in range(100, 100 + 2 * MAX_KNOWN // MAX_OWN):  # they come themselves, with as many as they may have
            table.learn((address(number, f"10.2.{number % 256}.{own}") for own in range(MAX_OWN)), seen=True)
        table.learn([address(50, "10.3.0.1")], seen=True)
        kept = {peer.address for peer in store.peers()}
        assert len(kept) == MAX_KNOWN
        assert {*reached, address(50, "10.3.0.1")} <= kept
        assert set(table.sample(len(reached), anyone)) == set(reached)


async def test_a_third_party_is_dialed_rarely(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        table = table_at(store)
        table.learn([address(1, "203.0.113.1")])
        table.worked(address(1, "203.0.113.1"))
        table.learn(address(number, "203.0.113.1") for number in range(2, 3 * MAX_OF_HOST))
        assert len(store.peers()) == MAX_OF_HOST
        table.learn([address(900, "203.0.113.1")], seen=True)  # who is there himself has room all the same
        assert {address(1, "203.0.113.1"), address(900, "203.0.113.1")} <= {peer.address for peer in store.peers()}
        dials = 0
        until = trio.current_time() + 60
        while trio.current_time() < until:
            way = table.next(without(1))  # type: ignore[arg-type]
            if way is not None:
                table.failed(way)
                dials += 1
            await trio.sleep(0.1)
        assert dials <= 8  # as a single address would be
        assert table.next(anyone) == address(1, "203.0.113.1")


KEY = secret(1).public
OWN = f"/p2p/{peer_id(KEY)}"


def test_told_addresses() -> None:
    relayed = f"/ip4/10.0.0.9/tcp/1/p2p/{peer_id(secret(9).public)}/p2p-circuit{OWN}"
    near = [f"/ip4/{host}/tcp/5{OWN}" for host in ("0.0.0.0", "127.0.0.1")] + [f"/ip6/fe80::1/tcp/5{OWN}"]
    lan, name = f"/ip4/192.168.1.5/tcp/5{OWN}", f"/dns4/example.org/tcp/5{OWN}"
    assert told_addresses([*near, relayed, lan], (), KEY) == [lan, relayed]
    assert told_addresses(near, (), KEY) == near[1:]
    assert told_addresses([near[0]], (), KEY) == []
    assert told_addresses([name, near[1]], (), KEY) == [name]
    assert told_addresses([lan, relayed], ["/ip4/8.8.8.8/tcp/7", name], KEY) == [
        f"/ip4/8.8.8.8/tcp/7{OWN}",
        name,
        relayed,
    ]
    assert told_addresses(["/memory/1" + OWN], (), KEY) == ["/memory/1" + OWN]
    assert [detour(each) for each in (lan, "/ip4/1.2.3.4/tcp/5/ws" + OWN, relayed)] == [0, 1, 2]


def test_what_can_be_announced() -> None:
    for good in (
        "/ip4/203.0.113.5/tcp/4001",
        "/ip6/2001:db8::1/tcp/1",
        "/dns/example.org/tcp/443/ws",
        "/dns4/a.b/tcp/65535",
    ):
        check_announced(good)
    for bad in (
        "",
        "203.0.113.5:4001",
        "/ip4/0.0.0.0/tcp/4001",
        "/ip4/203.0.113.5/tcp/0",
        "/ip4/203.0.113.5/tcp/65536",
        "/ip6/203.0.113.5/tcp/1",
        "/ip4/203.0.113.5/udp/1",
        "/dns/-x/tcp/1",
        "/dns/a b/tcp/1",
        "/ip4/203.0.113.5/tcp/4001" + OWN,
    ):
        with pytest.raises(AnnounceError, match="expected /ip4/"):
            check_announced(bad)
