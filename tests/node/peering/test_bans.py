"""Bans: how long they last, what they end, and what leads to one."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from node.disk.store import BanRecord, Store
from node.peering import bans as bans_module
from node.peering.bans import FIRST_S, HOLD_OFF_S, MOST_S, Bans
from node.peering.call import call, serve_calls
from node.peering.conduct import BAN_AT, Conduct
from node.peering.memory.network import MemoryNetwork
from node.peering.transport import Misdeed, Stream, TooMuch, TransportError, Unreachable
from tests.node.keys import secret

ONE, TWO = secret(1).public, secret(2).public
ECHO = "/gonode/echo/1"


@asynccontextmanager
async def running(conduct: Conduct) -> AsyncIterator[Conduct]:
    """Enforces bans while in the context."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(conduct.run)
        yield conduct
        nursery.cancel_scope.cancel()


async def test_bans_last_longer_each_time(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    with Store(tmp_path / "node.db") as store:
        bans = Bans(store)
        lengths = []
        for _ in range(12):
            bans.ban(ONE, "It lied.")
            (ban,) = bans.now()
            lengths.append(ban.left_s)
            await trio.sleep(ban.left_s - 1)
            bans.ban(ONE, "It lied.")  # changes nothing while it is banned
            assert bans.is_banned(ONE)
            await trio.sleep(2)
            assert not bans.is_banned(ONE)
            assert not bans.is_banned(TWO)
        assert lengths[:3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S]
        assert lengths[-1] == MOST_S == max(lengths)


async def test_what_is_left_outlives_the_process(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "node.db") as store:
        bans = Bans(store)
        bans.ban(ONE, "It lied.")
        await trio.sleep(600)
        bans.save()
    for jump_s in (-86400, 86400):  # the wall clock has no part in it
        monkeypatch.setattr(time, "time", lambda jump_s=jump_s: 1e9 + jump_s)
        with Store(tmp_path / "node.db") as store:
            bans = Bans(store)
            (ban,) = bans.now()
            assert (ban.key, ban.reason, ban.times, ban.left_s) == (ONE, "It lied.", 1, FIRST_S - 600)
    await trio.sleep(FIRST_S - 599)
    assert not bans.is_banned(ONE)
    with Store(tmp_path / "node.db") as store:
        bans = Bans(store)
        await trio.sleep(FIRST_S)
        bans.save()
        assert store.bans() == [BanRecord(ONE, "It lied.", 1, 0)]
        assert Bans(store).now() == []
        store.put_ban(BanRecord(ONE, "It lied.", 1, 10**9))
        (ban,) = Bans(store).now()
        assert ban.left_s == FIRST_S  # never more than the ban's own length


async def test_bans_are_bounded(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bans_module, "MAX_BANS", 3)
    with Store(tmp_path / "node.db") as store:
        bans = Bans(store)
        for number in range(5):
            bans.ban(secret(number).public, "It lied.")
            await trio.sleep(1)
        assert [secret(number).public in {ban.key for ban in bans.now()} for number in range(5)] == [False] * 2 + [
            True
        ] * 3
        assert len(store.bans()) == 3


async def test_a_banned_peer_is_refused(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    heard: list[bytes] = []

    async def hear(source: bytes, data: bytes) -> None:
        heard.append(data)

    async def echo(peer: bytes, request: bytes) -> bytes:
        return request

    network = MemoryNetwork()
    async with (
        network.open(secret(1)) as liar,
        network.open(secret(2)) as node,
        network.open(secret(3)) as third,
    ):
        with Store(tmp_path / "node.db") as store:
            async with running(Conduct(node, Bans(store), lambda key: False)) as conduct:
                for each in (liar, node, third):
                    serve_calls(each, ECHO, echo)
                    each.subscribe("t", hear)
                await liar.dial(node.addresses()[0])
                await third.dial(node.addresses()[0])
                await liar.publish("t", b"before")
                await trio.sleep(1)
                assert heard == [b"before"] * 2

                conduct.report(ONE, "It gave wrong bytes.")
                with pytest.raises(TransportError):  # before its connection has ended as well
                    await call(liar, node.key, ECHO, b"x")
                await trio.sleep(1)
                assert liar.peers() == ()
                assert node.peers() == (third.key,)
                with pytest.raises(Unreachable, match="refused"):
                    await liar.dial(node.addresses()[0])
                with pytest.raises(Unreachable, match="refused"):
                    await node.dial(liar.addresses()[0])
                await liar.dial(third.addresses()[0])
                await liar.publish("t", b"through the third")
                await trio.sleep(1)
                assert heard == [b"before"] * 2 + [b"through the third"]  # the third's alone
                assert await call(third, node.key, ECHO, b"x") == b"x"

                await trio.sleep(FIRST_S)
                await liar.dial(node.addresses()[0])
                assert await call(liar, node.key, ECHO, b"x") == b"x"


async def test_the_tickets_peers_are_only_held_off(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)) as coordinator, network.open(secret(2)) as node:
        with Store(tmp_path / "node.db") as store:
            async with running(Conduct(node, Bans(store), lambda key: key == ONE)) as conduct:
                for _ in range(3):
                    await node.dial(coordinator.addresses()[0])
                    conduct.report(ONE, "Its entries lead to no proof.")
                    await trio.sleep(1)
                    assert node.peers() == ()
                    with pytest.raises(Unreachable):
                        await node.dial(coordinator.addresses()[0])
                    await trio.sleep(HOLD_OFF_S)
                assert store.bans() == []


async def test_lesser_things_add_up_and_are_forgotten(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)), network.open(secret(2)) as node:
        with Store(tmp_path / "node.db") as store:
            conduct = Conduct(node, Bans(store), lambda key: False)
            for _ in range(500):  # now and then too often is no reason
                node.complain(ONE, Misdeed.TOO_OFTEN)
                await trio.sleep(1)
            assert not conduct.bans.is_banned(ONE)
            for _ in range(int(BAN_AT)):
                assert not node.refuse(ONE)
                node.complain(ONE, Misdeed.TOO_OFTEN)
            assert node.refuse(ONE)
            (ban,) = conduct.bans.now()
            assert ban.reason == Misdeed.TOO_OFTEN.value
            conduct.report(node.key, "This is itself.")
            assert not node.refuse(node.key)


async def test_frames_over_the_limit_are_complained_of(autojump_clock: trio.testing.MockClock) -> None:
    told: list[tuple[bytes, Misdeed]] = []

    async def read(stream: Stream) -> None:
        with pytest.raises(TooMuch):
            await stream.receive(10)

    network = MemoryNetwork()
    async with network.open(secret(1)) as sender, network.open(secret(2)) as node:
        node.complain = lambda key, misdeed: told.append((key, misdeed))
        node.serve(ECHO, read)
        await sender.dial(node.addresses()[0])
        stream = await sender.open(node.key, ECHO)
        await stream.send(bytes(11))
        await trio.sleep(1)
    assert told == [(ONE, Misdeed.TOO_LONG)]
