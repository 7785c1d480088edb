"""A host whose parts end or fail is started again in the same place, and serves what it served."""

from contextlib import suppress

import pytest
import trio

from node.peering.call import call
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import TransportError
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.test_hardening import Victim, peer_of
from tests.node.peering.libp2p.victim import ECHO, END, GOOD_TOPIC

AGAIN_WITHIN_S = 8.0


async def returned(transport: Libp2pTransport, victim: Victim) -> None:
    """Returns once the victim serves this peer, which had a link to it, again."""
    with trio.fail_after(AGAIN_WITHIN_S):
        while True:
            with suppress(TransportError):
                await transport.dial(victim.address)
                assert await call(transport, victim.key, ECHO, b"again", timeout_s=2) == b"again"
                return
            await trio.sleep(0.1)


@pytest.mark.parametrize("how", [pytest.param("stops", marks=pytest.mark.soak), "fails"])
async def test_each_part_ends(how: str) -> None:
    victim = Victim()
    try:
        for number, part in enumerate(("pubsub", "router", "host"), 1):
            async with peer_of(victim) as honest:
                honest.subscribe(GOOD_TOPIC, None)  # type: ignore[arg-type]
                await call(honest, victim.key, END, f"{part} {how}".encode())
                with trio.fail_after(AGAIN_WITHIN_S):
                    while victim.key in honest.peers():  # the old connection is not left half open
                        await trio.sleep(0.05)
                await returned(honest, victim)
                await trio.sleep(1.5)
                await honest.publish(GOOD_TOPIC, part.encode())
                await trio.sleep(0.5)
            status = await victim.check()
            assert status["faults"]["host ended"] == number
            assert status["heard"][-1] == part
    finally:
        victim.close()


async def test_links_say_who_dialed_and_since_when() -> None:
    async with open_libp2p(SecretKey.generate()) as one, open_libp2p(SecretKey.generate()) as two:
        before = trio.current_time()
        (address,) = one.addresses()
        await two.dial(address)
        (link,) = two.links()
        assert (link.peer, link.address) == (one.key, address)
        assert before <= link.since_s <= trio.current_time()
        with trio.fail_after(5):
            while not one.links():
                await trio.sleep(0.01)
        (link,) = one.links()
        assert (link.peer, link.address) == (two.key, None)
