"""Peers that read or write a byte now and then: they hold little, end, and nobody else waits for them."""

import trio

from node.peering.call import call
from tests.node.peering.libp2p.test_hardening import Victim, peer_of, raw_stream
from tests.node.peering.libp2p.victim import ECHO

SLOW = 8
QUESTION = bytes(1_900_000)
SERVED_WITHIN_S = 10.0


async def trickle(victim: Victim) -> None:
    """A connection of which one byte comes each tenth of a second, as of one who would hold its place for hours."""
    stream = await trio.open_tcp_stream("127.0.0.1", int(victim.address.split("/")[4]))
    async with stream:
        for _ in range(10_000):
            await stream.send_all(b"\x13")
            await trio.sleep(0.1)


async def test_slow_readers_and_writers_delay_nobody() -> None:
    victim = Victim()
    try:
        before = (await victim.check())["resident"]
        async with trio.open_nursery() as nursery, peer_of(victim) as slow:

            async def send_slowly() -> None:
                try:
                    await trickle(victim)
                except trio.BrokenResourceError:
                    return  # the victim has ended it

            for _ in range(SLOW):
                nursery.start_soon(send_slowly)
            for _ in range(SLOW):  # each asks for two megabytes and reads nothing of them
                stream = await raw_stream(slow, victim, ECHO)
                await stream.write(len(QUESTION).to_bytes(4, "big") + QUESTION)
            for _ in range(3):
                with trio.fail_after(SERVED_WITHIN_S):
                    status = await victim.check()
            assert status["resident"] - before < (2 * SLOW + 20) * len(QUESTION)
            assert await call(slow, victim.key, ECHO, b"on the same connection") == b"on the same connection"
            nursery.cancel_scope.cancel()
    finally:
        victim.close()
