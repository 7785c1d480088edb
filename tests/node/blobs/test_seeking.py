"""Dialing holders of a blob, and telling the directory."""

from random import Random

import trio
import trio.testing

from node.blobs.seeking import MAX_PROVIDED, PROVIDE_EVERY_S, Provider, Seeker, blob_key
from node.peering.memory.network import MemoryNetwork
from tests.node.keys import secret

BLOB = bytes(range(32))


async def test_who_told_is_dialed_first(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(0)) as mine, network.open(secret(1)) as told, network.open(secret(2)) as other:
        gone = secret(3).public
        addresses = {told.key: told.addresses()}
        await mine.dial(other.addresses()[0])
        await other.dial(told.addresses()[0])
        seeker = Seeker(mine, lambda digest: (gone, other.key, told.key), lambda key: addresses.get(key, ()))
        assert await seeker.seek(BLOB) == [told.key]
        assert told.key in mine.peers()


async def test_the_directory_is_asked_when_nobody_told(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(0)) as mine, network.open(secret(1)) as holder, network.open(secret(2)) as other:
        await mine.dial(other.addresses()[0])
        await holder.dial(other.addresses()[0])
        seeker = Seeker(mine, lambda digest: (), lambda key: ())
        assert await seeker.seek(BLOB) == []
        await holder.provide(blob_key(BLOB))
        assert await seeker.seek(BLOB) == [holder.key]


async def test_nobody_at_all(autojump_clock: trio.testing.MockClock) -> None:
    async with MemoryNetwork().open(secret(0)) as mine:
        assert await Seeker(mine, lambda digest: (), lambda key: ()).seek(BLOB) == []


async def test_scarce_blobs_are_provided_now_and_then(autojump_clock: trio.testing.MockClock) -> None:
    told: list[tuple[float, bytes]] = []
    blobs = [bytes([number]) * 32 for number in range(MAX_PROVIDED + 2)]
    async with MemoryNetwork().open(secret(0)) as mine:

        async def provide(key: bytes) -> None:
            told.append((trio.current_time(), key))

        mine.provide = provide  # type: ignore[method-assign]
        provider = Provider(mine, lambda digest: digest != blobs[0], Random(1))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(provider.run)
            for _ in range(3):
                provider.hold(blobs)
                await trio.sleep(PROVIDE_EVERY_S / 6)
            assert [key for _, key in told] == [blob_key(each) for each in blobs[1:MAX_PROVIDED]]
            await trio.sleep(PROVIDE_EVERY_S * 2)
            first = [when for when, key in told if key == blob_key(blobs[1])]
            assert 2 <= len(first) <= 3
            assert first[1] - first[0] >= PROVIDE_EVERY_S
            nursery.cancel_scope.cancel()
