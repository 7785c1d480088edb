"""Following heads that are heard of by gossip, and those that gossip lost."""

from functools import partial
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from node.disk.store import Head
from node.following.follower import POLL_S, LogFollower
from node.following.fork import ForkProof
from node.following.heads import LogForked
from node.following.service import LOG_PROTOCOL
from node.peering.call import CallRefused, serve_calls
from protocol import codec
from protocol.merkle import Tree
from tests.node.following.copies import (
    BEGINNING,
    OTHER,
    PEN,
    RUN,
    TOPIC,
    Log,
    called,
    cosigned,
    logs,
    signed_head,
    tick,
)

QUIET_S = 15.0
"""After so long a follower has asked each new peer and only polls."""

LOST_S = 30.0
"""What gossip lost arrives within."""


def listen(log: Log, follower: LogFollower) -> None:
    """Has the follower hear what is published."""

    async def hear(source: bytes, data: bytes) -> None:
        follower.hint(data)

    log.transport.subscribe(TOPIC, hear)


async def begun(*made: Log) -> None:
    """Returns once all have the beginning and are quiet."""
    await trio.sleep(QUIET_S)
    assert all(log.replica.size >= 2 for log in made)


def linked_to(source: Log, log: Log) -> tuple[bytes, ...]:
    """The coordinator, if a log's node is linked to it."""
    return (source.key,) if source.key in log.transport.peers() else ()


def begin(source: Log) -> None:
    source.extend(BEGINNING)
    source.sign()


async def test_thirty_followers_of_which_few_are_linked_to_the_coordinator(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    heads, linked = 10, 4
    async with logs(tmp_path, 31, linked=False) as (source, *others), trio.open_nursery() as nursery:
        begin(source)
        rng = Random(1)
        await source.link(*others[:linked])
        for at, log in enumerate(others):
            await log.link(others[at - 1], *rng.sample([each for each in others if each is not log], 3))
        for log in others:
            follower = log.follower(tmp_path, coordinators=partial(linked_to, source, log))
            listen(log, follower)
            nursery.start_soon(follower.run)
        await trio.sleep(60)
        assert all(log.replica.size == 2 for log in others)
        for log in (source, *others):
            log.calls.clear()
        for _ in range(heads):
            await source.transport.publish(TOPIC, source.grow(3).note)
            await trio.sleep(1)
        await trio.sleep(2)
        assert {log.replica.size for log in others} == {2 + 3 * heads}
        assert source.calls["entries"] <= linked * heads
        assert source.calls["entries"] >= heads * 0.9, "somebody has to ask it"
        assert source.calls["head"] <= linked * 2 * heads / POLL_S, "polls are few"
        assert called(others, "entries") <= 2.5 * len(others) * heads
        nursery.cancel_scope.cancel()


async def test_a_chain_is_followed_within_seconds(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 8, linked=False) as (source, *others), trio.open_nursery() as nursery:
        begin(source)
        for before, log in zip([source, *others], others, strict=False):
            await log.link(before)
            follower = log.follower(tmp_path)
            listen(log, follower)
            nursery.start_soon(follower.run)
        await trio.sleep(60)
        await source.transport.publish(TOPIC, source.grow().note)
        with trio.fail_after(8):
            while others[-1].replica.size < 3:
                await trio.sleep(0.1)
        nursery.cancel_scope.cancel()


async def test_what_gossip_lost_arrives(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """Heads are gossiped, but one node hears none of them."""
    async with logs(tmp_path, 6, linked=False) as (source, *others), trio.open_nursery() as nursery:
        begin(source)
        await source.link(*others[:2])
        deaf = others[-1]
        for log in others:
            await log.link(*(each for each in others if each is not log))
            follower = log.follower(tmp_path)
            if log is not deaf:
                listen(log, follower)
            nursery.start_soon(follower.run)
        await begun(*others)
        for _ in range(30):
            head = source.grow()
            told_s = trio.current_time()
            await source.transport.publish(TOPIC, head.note)
            while deaf.replica.size < head.size:
                await trio.sleep(0.1)
            assert trio.current_time() - told_s <= LOST_S
        nursery.cancel_scope.cancel()


async def test_a_network_without_gossip_follows(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 12, linked=False) as (source, *others), trio.open_nursery() as nursery:
        begin(source)
        await source.link(*others[:2])
        rng = Random(2)
        for log in others:
            await log.link(*rng.sample([each for each in others if each is not log], 3))
            nursery.start_soon(log.follower(tmp_path).run)
        await begun(*others)
        for _ in range(10):
            head = source.grow()
            await trio.sleep(LOST_S)
            assert all(log.replica.size == head.size for log in others)
        nursery.cancel_scope.cancel()


async def test_notes_that_do_not_hold_cause_no_call(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine), trio.open_nursery() as nursery:
        begin(source)
        follower = mine.follower(tmp_path)
        nursery.start_soon(follower.run)
        await begun(mine)
        source.calls.clear()
        tree = Tree([*BEGINNING, tick(2)])
        forged = signed_head(tree, OTHER).note
        for note in (forged, b"nonsense", b"", forged.replace(b"\n3\n", b"\n9\n"), source.store.heads()[0].note):
            follower.hint(note)
            assert follower.is_head(note) == (note == source.store.heads()[0].note)
        await trio.sleep(2)
        assert source.calls["entries"] == 0
        assert mine.store.heads() == source.store.heads()
        nursery.cancel_scope.cancel()


async def test_cosignatures_come_by_gossip(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    told: list[int] = []
    newest: list[Head | None] = []
    async with logs(tmp_path, 2) as (source, mine), trio.open_nursery() as nursery:
        begin(source)
        follower: LogFollower = mine.follower(
            tmp_path,
            on_cosigned=lambda: told.append(follower.cosigned_size),
            on_newest=lambda: newest.append(follower.newest),
        )
        nursery.start_soon(follower.run)
        await begun(mine)
        first, second = source.grow(), source.grow()
        source.calls.clear()
        follower.hint(second.note)
        await trio.sleep(2)
        assert (mine.replica.size, follower.cosigned_size) == (4, 0)
        follower.hint(cosigned(first).note)
        await trio.sleep(0.1)
        follower.hint(cosigned(second, OTHER).note)  # who is no verifier
        await trio.sleep(0.1)
        follower.hint(cosigned(second).note)
        await trio.sleep(0.1)
        third = cosigned(source.grow())
        follower.hint(third.note)  # its entries come after it
        await trio.sleep(2)
        assert told == [3, 4, 5]
        assert newest[-3:] == [second, cosigned(second), third]
        assert source.calls["entries"] == 2
        assert follower.newest == third
        assert mine.store.newest_head() == third
        nursery.cancel_scope.cancel()
    assert mine_again(tmp_path, 1) == 5


def mine_again(path: Path, number: int) -> int:
    """The cosigned size that a node knows when it starts again."""
    from node.disk.store import Store
    from node.following.heads import Heads
    from node.following.stored_log import replay_log
    from tests.node.following.copies import Rules

    with Store(path / str(number) / "node.db") as store:
        replica = Rules()
        replay_log(replica, store)
        return Heads(replica, store, path).cosigned_size


async def test_lines_that_somebody_added_are_dropped(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine), trio.open_nursery() as nursery:
        begin(source)
        follower = mine.follower(tmp_path)
        nursery.start_soon(follower.run)
        await begun(mine)
        head = source.grow()
        good = cosigned(head)
        line = good.note.splitlines(keepends=True)[-1]
        other = cosigned(source.grow()).note.splitlines(keepends=True)[-1]
        follower.hint(head.note + other)
        await trio.sleep(1)
        assert mine.store.newest_head() == head
        follower.hint(head.note + other + cosigned(head, OTHER).note.splitlines(keepends=True)[-1])
        follower.hint(head.note + line + line)
        await trio.sleep(1)
        assert follower.cosigned_size == 0
        follower.hint(good.note + cosigned(head, OTHER).note.splitlines(keepends=True)[-1])
        await trio.sleep(1)
        assert follower.cosigned_size == 3
        assert mine.store.newest_head(3) == good
        nursery.cancel_scope.cancel()


async def test_busy_peers_are_asked_again(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 4) as (source, busy, late, mine), trio.open_nursery() as nursery:
        for log in (source, busy, late):
            begin(log)
        refused = 0

        async def refuse(log: Log, times: int, peer: bytes, request: bytes) -> bytes:
            nonlocal refused
            if b"entries" in request and refused < times and peer == mine.key:
                refused += 1
                raise CallRefused("This node is busy.")
            return await log.answer(peer, request)

        follower = mine.follower(tmp_path, coordinators=lambda: (source.key,))
        nursery.start_soon(follower.run)
        await begun(mine)
        head = source.grow(2000)
        busy.extend(list(source.store.iterate_log(2)))
        for log in (source, busy):
            serve_calls(log.transport, LOG_PROTOCOL, partial(refuse, log, 3), max_bytes=256)
        follower.hint(head.note)
        with trio.fail_after(3):
            while mine.replica.size < head.size:
                await trio.sleep(0.1)
        assert refused == 3
        nursery.cancel_scope.cancel()


async def test_a_verifier_asks_the_coordinator_at_once(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 4) as (source, *others), trio.open_nursery() as nursery:
        for log in (source, *others):
            begin(log)
        mine = others[-1]
        follower = mine.follower(tmp_path, coordinators=lambda: (source.key,), coordinator_first=True)
        nursery.start_soon(follower.run)
        await begun(mine)
        for log in (source, *others):
            log.calls.clear()
        follower.hint(source.grow().note)
        await trio.sleep(0.15)  # a call takes 0.06 s
        assert mine.replica.size == 3
        assert source.calls == {"entries": 1}
        assert called(others) == 0
        nursery.cancel_scope.cancel()


async def test_a_peer_that_does_not_answer_holds_nobody_up(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async def never(peer: bytes, request: bytes) -> bytes:
        await trio.sleep_forever()
        raise AssertionError

    async with logs(tmp_path, 3) as (source, stopped, mine), trio.open_nursery() as nursery:
        begin(source)
        follower = mine.follower(tmp_path, coordinators=lambda: (source.key,))
        nursery.start_soon(follower.run)
        serve_calls(stopped.transport, LOG_PROTOCOL, never)
        await begun(mine)
        follower.hint(source.grow().note)
        await trio.sleep(6)
        assert mine.replica.size == 3
        for _ in range(5):
            follower.hint(source.grow().note)
            await trio.sleep(1)
        assert mine.replica.size == 8, "it is asked last from now on"
        nursery.cancel_scope.cancel()


async def test_a_new_peer_is_asked_at_once(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 3, linked=False) as (source, idle, mine), trio.open_nursery() as nursery:
        begin(source)
        follower = mine.follower(tmp_path)
        await mine.link(idle)
        nursery.start_soon(follower.run)
        await trio.sleep(100)
        await mine.link(source)
        await trio.sleep(1)
        assert mine.replica.size == 2
        nursery.cancel_scope.cancel()


async def test_a_head_that_nobody_has_holds_nothing_up(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine), trio.open_nursery() as nursery:
        begin(source)
        follower = mine.follower(tmp_path)
        nursery.start_soon(follower.run)
        await begun(mine)
        follower.hint(signed_head(Tree([*BEGINNING, *(tick(number, 1) for number in range(2, 1000))])).note)
        for _ in range(5):
            follower.hint(source.grow().note)
            await trio.sleep(2)
        assert mine.replica.size == 7
        nursery.cancel_scope.cancel()


async def test_liars_are_reported_and_asked_last(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    reports: list[tuple[bytes, str]] = []
    async with logs(tmp_path, 3) as (source, liar, mine), trio.open_nursery() as nursery:
        for log in (source, liar):
            begin(log)

        async def lie(peer: bytes, request: bytes) -> bytes:
            asked = codec.decode(request)
            assert isinstance(asked, dict)
            if asked["op"] == "entries" and asked["start"] != 0:
                return codec.encode({"entries": [tick(77)], "proof": []})
            return await source.answer(peer, request)

        serve_calls(liar.transport, LOG_PROTOCOL, lie, max_bytes=256)
        follower = mine.follower(
            tmp_path, coordinators=lambda: (source.key,), report=lambda peer, why: reports.append((peer, why))
        )
        nursery.start_soon(follower.run)
        await begun(mine)
        for _ in range(5):
            follower.hint(source.grow().note)
            await trio.sleep(1)
        assert mine.replica.size == 7
        assert [peer for peer, _ in reports] == [liar.key], "once, for then others are asked before it"
        assert "lead to no proof" in reports[0][1]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(("honest", "forked"), [(20, 10), (10, 10), (20, 15), (10, 20)])
async def test_a_fork_that_is_gossiped_is_proved_and_no_peer_blamed(
    honest: int, forked: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """The coordinator shows a head of another log by gossip; all peers have the log that this node follows."""
    reports: list[bytes] = []
    other = Tree([*BEGINNING, *(tick(number, 1) for number in range(2, forked))])
    with pytest.RaisesGroup(pytest.RaisesExc(LogForked), flatten_subgroups=True):
        async with logs(tmp_path, 3) as (source, peer, mine), trio.open_nursery() as nursery:
            for log in (source, peer):
                begin(log)
            follower = mine.follower(tmp_path, report=lambda peer, why: reports.append(peer))
            nursery.start_soon(follower.run)
            await begun(mine)
            follower.hint(signed_head(other).note)
            await trio.sleep(5)
            for log in (source, peer):
                log.grow(honest - 2)
            await trio.sleep(200)
            for log in (source, peer):
                log.grow(30)
            await trio.sleep(200)
    (path,) = tmp_path.glob("*.proof")
    ForkProof.parse(path.read_bytes()).verify(RUN, PEN.public)
    assert not reports
