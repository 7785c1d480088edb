"""Upload slots: turns between peers, slow readers, queues that end."""

import pytest
import trio
import trio.testing

from node.blobs.slots import HOLD_S, MAX_WAITING_PER_PEER, MOST, QUEUE_S, Slots
from node.peering.call import CallRefused

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
    refused = 0

    async def take(peer: bytes) -> None:
        nonlocal refused
        try:
            async with slots.slot(peer) as hold:
                hold.start()
                await trio.sleep(1000)
        except CallRefused:
            refused += 1

    async with trio.open_nursery() as nursery:
        for number in range(2 * MOST):
            nursery.start_soon(take, bytes([number]))
            await trio.sleep(HOLD_S + 1)
        await trio.sleep(QUEUE_S)
        assert refused == MOST


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
