"""Upload slots: turns between peers, slow readers, queues that end."""

from contextlib import suppress

import pytest
import trio
import trio.testing

from node.blobs.slots import HOLD_S, MAX_WAITING_PER_PEER, MOST, QUEUE_S, Slots
from node.peering.call import CallRefused
from node.peering.transport import Timeout

A, B = b"a", b"b"


async def test_peers_take_turns(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(1)
    served: list[bytes] = []

    async def take(peer: bytes) -> None:
        async with slots.slot(peer) as hold:
            hold.start()
            await trio.sleep(0.1)
            served.append(peer)

    async with trio.open_nursery() as nursery:
        for peer in (A, A, A, B, B):
            nursery.start_soon(take, peer)
            await trio.sleep(0.001)
    assert served == [A, B, A, B, A]


async def test_a_slow_reader_keeps_nobody_waiting(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(1)

    async def take_long() -> None:
        async with slots.slot(A) as hold:
            hold.start()
            await trio.sleep(50)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take_long)
        await trio.sleep(0.001)
        async with slots.slot(B):
            assert trio.current_time() == pytest.approx(HOLD_S, abs=HOLD_S / 2)


async def test_so_many_and_no_more(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(1)
    running = most = ended = 0

    async def take(peer: bytes) -> None:
        nonlocal running, most, ended
        with suppress(CallRefused):
            try:
                async with slots.slot(peer) as hold:
                    hold.start()
                    running += 1
                    most = max(most, running)
                    try:
                        await trio.sleep(1000)
                    finally:
                        running -= 1
            except Timeout:
                ended += 1

    async with trio.open_nursery() as nursery:
        for number in range(2 * MOST):
            nursery.start_soon(take, bytes([number]))
            await trio.sleep(HOLD_S + 1)
        assert most == running == MOST
        assert ended == MOST
        nursery.cancel_scope.cancel()


async def test_who_takes_most_at_once_is_ended_first(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(2)
    ended: list[bytes] = []

    async def take(peer: bytes) -> None:
        try:
            async with slots.slot(peer) as hold:
                hold.start()
                await trio.sleep(1000)
        except Timeout:
            ended.append(peer)

    async with trio.open_nursery() as nursery:
        for peer in (B, *[A] * (MOST - 1), A):
            nursery.start_soon(take, peer)
            await trio.sleep(HOLD_S + 1)
        assert ended == [A]
        nursery.cancel_scope.cancel()


async def test_many_who_read_nothing_shut_nobody_out(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(2)

    async def take_nothing(peer: bytes) -> None:
        while True:
            with suppress(CallRefused, Timeout):
                async with slots.slot(peer) as hold:
                    hold.start()
                    await trio.sleep(60)
            await trio.sleep(0.1)

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(take_nothing, bytes([number]))
        await trio.sleep(300)
        for _ in range(50):
            asked = trio.current_time()
            async with slots.slot(b"honest") as hold:
                hold.start()
                await trio.sleep(0.1)
            assert trio.current_time() - asked <= 2 * HOLD_S
        nursery.cancel_scope.cancel()


async def test_one_peer_does_not_fill_the_queue(autojump_clock: trio.testing.MockClock) -> None:
    slots = Slots(1)

    async def take() -> None:
        async with slots.slot(A):
            await trio.sleep(QUEUE_S / 2 / MAX_WAITING_PER_PEER)

    async with trio.open_nursery() as nursery:
        for _ in range(1 + MAX_WAITING_PER_PEER):
            nursery.start_soon(take)
            await trio.sleep(0.001)
        with pytest.raises(CallRefused, match="Too many"):
            async with slots.slot(A):
                pass
        async with slots.slot(B):
            assert trio.current_time() < QUEUE_S / 2
