"""The memory twin: frames, limits, loss, cuts, partitions, on trio's clock."""

import pytest
import trio
import trio.testing

from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MAX_STREAMS_PER_PEER, MemoryTransport
from node.peering.transport import MAX_FRAME, MAX_PUBLICATION, PeerGone, Stream, Timeout, TooMuch, Unreachable
from tests.node.keys import secret


async def echo(stream: Stream) -> None:
    while True:
        try:
            await stream.send(await stream.receive())
        except PeerGone:
            return


async def linked(a: MemoryTransport, b: MemoryTransport) -> None:
    assert await a.dial(b.addresses()[0]) == b.key
    assert a.peers() == (b.key,)


async def test_frames_come_in_order_under_loss(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork(seed=1, loss=0.3, delay_s=0.05, jitter_s=0.1)
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve("/gonode/echo/1", echo)
        await linked(a, b)
        start = trio.current_time()
        stream = await a.open(b.key, "/gonode/echo/1")
        for number in range(50):
            await stream.send(b"%d" % number)
            assert await stream.receive() == b"%d" % number
        assert trio.current_time() - start > 50 * 0.1
        await stream.close()
        with pytest.raises(PeerGone):
            await stream.send(b"late")


async def test_same_seed_same_times(autojump_clock: trio.testing.MockClock) -> None:
    async def run(seed: int) -> float:
        network = MemoryNetwork(seed=seed, loss=0.2, jitter_s=1)
        start = trio.current_time()
        async with network.open(secret(1)) as a, network.open(secret(2)) as b:
            b.serve("/gonode/echo/1", echo)
            await linked(a, b)
            stream = await a.open(b.key, "/gonode/echo/1")
            for _ in range(20):
                await stream.send(b"x")
                await stream.receive()
        return round(trio.current_time() - start, 6)

    assert await run(1) == await run(1) != await run(2)


async def test_failing_handler_resets_its_stream_only(autojump_clock: trio.testing.MockClock) -> None:
    async def fail(stream: Stream) -> None:
        await stream.receive()
        raise RuntimeError("handler")

    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve("/gonode/fail/1", fail)
        b.serve("/gonode/echo/1", echo)
        await linked(a, b)
        stream = await a.open(b.key, "/gonode/fail/1")
        await stream.send(b"x")
        with pytest.raises(PeerGone):
            await stream.receive()
        assert b.faults()["handler"] == 1
        stream = await a.open(b.key, "/gonode/echo/1")
        await stream.send(b"still here")
        assert await stream.receive() == b"still here"


async def test_limits(autojump_clock: trio.testing.MockClock) -> None:
    async def hold(stream: Stream) -> None:
        await trio.sleep_forever()

    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve("/gonode/hold/1", hold)
        b.serve("/gonode/echo/1", echo)
        await linked(a, b)
        with pytest.raises(TooMuch):
            await a.publish("t", bytes(MAX_PUBLICATION + 1))
        stream = await a.open(b.key, "/gonode/echo/1")
        with pytest.raises(TooMuch):
            await stream.send(bytes(MAX_FRAME + 1))
        await stream.send(bytes(1000))
        with pytest.raises(TooMuch):
            await stream.receive(999)
        held = [await a.open(b.key, "/gonode/hold/1") for _ in range(MAX_STREAMS_PER_PEER)]
        with pytest.raises(TooMuch):
            await a.open(b.key, "/gonode/hold/1")
        with pytest.raises(Timeout):
            await held[0].receive()
        await held[0].close()
        await a.open(b.key, "/gonode/hold/1")


async def test_dialing(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)) as a:
        async with network.open(secret(2)) as b:
            await linked(a, b)
            with pytest.raises(Unreachable, match="does not speak"):
                await a.open(b.key, "/gonode/none/1")
            address = b.addresses()[0]
            await a.disconnect(b.key)
            assert a.peers() == b.peers() == ()
            with pytest.raises(PeerGone):
                await a.open(b.key, "/gonode/none/1")
            await linked(a, b)
        assert a.peers() == ()
        with pytest.raises(Unreachable):
            await a.dial(address)


async def test_partition_holds_frames_and_heals(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve("/gonode/echo/1", echo)
        await linked(a, b)
        stream = await a.open(b.key, "/gonode/echo/1")
        network.partition([a.key], [b.key])
        await stream.send(b"held")
        with trio.move_on_after(30) as waited:
            await stream.receive()
        assert waited.cancelled_caught
        with pytest.raises(Unreachable):
            await b.dial(a.addresses()[0])
        network.heal()
        assert await stream.receive() == b"held"


async def test_cut_streams_end(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork(seed=3, cut=0.2)
    ended = 0
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve("/gonode/echo/1", echo)
        await linked(a, b)
        for _ in range(50):
            stream = await a.open(b.key, "/gonode/echo/1")
            try:
                await stream.send(b"x")
                assert await stream.receive() == b"x"
            except PeerGone:
                ended += 1
            await stream.close()
    assert 5 < ended < 40


async def test_publications_pass_along_links_and_are_lost(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork(seed=4, loss=0.25)
    heard: list[tuple[bytes, bytes]] = []

    async def hear(source: bytes, data: bytes) -> None:
        heard.append((source, data))
        if data == b"0":
            raise RuntimeError("listener")

    async with network.open(secret(1)) as a, network.open(secret(2)) as b, network.open(secret(3)) as c:
        await a.dial(b.addresses()[0])
        await b.dial(c.addresses()[0])
        c.subscribe("t", hear)
        for number in range(200):
            await a.publish("t", b"%d" % number)
            await a.publish("other", b"%d" % number)
            await trio.sleep(0.1)
        await trio.sleep(10)
        assert 100 < len(heard) < 190
        assert all(source == a.key for source, _ in heard)
        network.partition([a.key], [b.key, c.key])
        count = len(heard)
        await a.publish("t", b"unheard")
        await trio.sleep(10)
        assert len(heard) == count
