"""Publications of a host that is started again."""

import trio

from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.transport import Libp2pTransport
from tests.node.keys import secret

TOPIC = "gonode/test/publications"


async def test_those_of_a_second_start_are_heard_beside_those_of_the_first() -> None:
    heard: list[bytes] = []

    async def hear(source: bytes, data: bytes) -> None:
        heard.append(data)

    with trio.fail_after(60):
        async with open_libp2p(secret(1)) as far:
            far.subscribe(TOPIC, hear)
            for start in range(2):
                async with open_libp2p(secret(2)) as near:
                    near.subscribe(TOPIC, hear)
                    await near.dial(far.addresses()[0])
                    await mesh(near)
                    sent = {b"%d %d" % (start, number) for number in range(8)}
                    for data in sent:
                        await near.publish(TOPIC, data)
                    with trio.move_on_after(10):
                        while not sent <= set(heard):
                            await trio.sleep(0.05)
                    assert sent <= set(heard)


async def mesh(transport: Libp2pTransport) -> None:
    """Returns once a peer takes what is published."""
    while not transport.pubsub.router.mesh.get(TOPIC):
        await trio.sleep(0.05)
