"""Floods of a node in another process: it stays up and small, counts what it refuses, and serves an honest peer."""

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio

from node.peering.call import call
from node.peering.libp2p.host import MESHSUB
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.quota import Limits
from node.peering.transport import TransportError
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.test_hardening import Victim, peer_of, raw_stream
from tests.node.peering.libp2p.victim import ECHO, GOOD_TOPIC, IDLE

FLOOD_S = 4.0
MOST_RESIDENT = 150 << 20
MOST_ANSWER_S = 5.0


@pytest.fixture
def victim() -> Iterator[Victim]:
    made = Victim()
    yield made
    made.close()


async def served_during(victim: Victim, flood: Callable[[], Awaitable[None]]) -> dict[str, Any]:
    """What the victim says after a flood, in the middle of which an honest peer was served in good time."""
    async with peer_of(victim) as honest:
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                with trio.move_on_after(FLOOD_S):
                    await flood()

            nursery.start_soon(run)
            await trio.sleep(FLOOD_S / 2)
            began = time.monotonic()
            assert await call(honest, victim.key, ECHO, b"x" * 50_000, timeout_s=MOST_ANSWER_S) == b"x" * 50_000
            assert time.monotonic() - began < MOST_ANSWER_S
        assert await call(honest, victim.key, ECHO, b"still") == b"still"
    status = await victim.check()
    assert status["resident"] < MOST_RESIDENT
    return status


async def test_flood_of_connections_from_one_address(victim: Victim) -> None:
    port = int(victim.address.split("/")[4])

    async def flood() -> None:
        async def knock() -> None:
            while True:
                try:
                    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
                        await stream.send_all(b"\x13/multistream/1.0.0\n")
                        with trio.move_on_after(1):
                            while await stream.receive_some(1000):
                                pass
                except (OSError, trio.BrokenResourceError):
                    await trio.sleep(0.01)

        async with trio.open_nursery() as nursery:
            for _ in range(80):
                nursery.start_soon(knock)

    async with peer_of(victim) as honest:
        with trio.move_on_after(FLOOD_S):
            await flood()
        assert await call(honest, victim.key, ECHO, b"x") == b"x"  # who is connected stays so
    await trio.sleep(2 / Limits().connections_opened[0] + 1)
    status = await victim.check()  # and others come in again
    assert status["resident"] < MOST_RESIDENT
    assert status["faults"]["connection refused"] > 100


async def test_flood_of_streams(victim: Victim) -> None:
    async def flood() -> None:
        async with peer_of(victim) as attacker:

            async def open_on() -> None:
                while True:
                    try:
                        stream = await raw_stream(attacker, victim, IDLE)
                        await stream.reset()
                    except Exception:
                        await trio.sleep(0)

            async with trio.open_nursery() as nursery:
                for _ in range(32):
                    nursery.start_soon(open_on)

    status = await served_during(victim, flood)
    assert status["faults"]["stream refused"] >= 1
    assert status["TOO_OFTEN"] >= 1
    assert status["idle"] <= Limits().streams_opened[1] + Limits().streams_opened[0] * (FLOOD_S + 2)


async def test_flood_of_calls(victim: Victim) -> None:
    answered = 0

    async def flood() -> None:
        async with peer_of(victim) as attacker:

            async def ask() -> None:
                nonlocal answered
                while True:
                    try:
                        await call(attacker, victim.key, ECHO, b"x" * 1000)
                        answered += 1
                    except TransportError:
                        await trio.sleep(0)

            async with trio.open_nursery() as nursery:
                for _ in range(32):
                    nursery.start_soon(ask)

    await served_during(victim, flood)
    assert 0 < answered <= Limits().streams_opened[1] + Limits().streams_opened[0] * (FLOOD_S + 1)


async def test_flood_of_publications(victim: Victim) -> None:
    from libp2p.pubsub.pb import rpc_pb2
    from libp2p.utils import encode_varint_prefixed

    async def flood() -> None:
        sent = 0
        async with peer_of(victim) as attacker:
            stream = await raw_stream(attacker, victim, MESHSUB[1])
            while True:
                messages = [
                    rpc_pb2.Message(
                        data=b"x", topicIDs=[GOOD_TOPIC], from_id=b"y", seqno=(sent + number).to_bytes(8, "big")
                    )
                    for number in range(4000)
                ]
                await stream.write(encode_varint_prefixed(rpc_pb2.RPC(publish=messages).SerializeToString()))
                sent += len(messages)

    status = await served_during(victim, flood)
    assert status["heard"] == []
    read = (Limits().gossip_bytes[1] + Limits().gossip_bytes[0] * (FLOOD_S + 3)) / len(b"one of these messages")
    assert 1000 < status["faults"]["publication refused"] < read


async def test_flood_of_signed_publications_of_one_publisher(victim: Victim) -> None:
    from libp2p.pubsub.pb import rpc_pb2
    from libp2p.pubsub.pubsub import PUBSUB_SIGNING_PREFIX
    from libp2p.utils import encode_varint_prefixed

    made, at_once = Limits().publications_made
    async with peer_of(victim) as attacker, peer_of(victim) as honest:
        honest.subscribe(GOOD_TOPIC, None)  # type: ignore[arg-type]
        await trio.sleep(1.5)
        signer = attacker.host.get_private_key()
        stream = await raw_stream(attacker, victim, MESHSUB[1])
        with trio.move_on_after(FLOOD_S):
            for number in range(1000):
                message = rpc_pb2.Message(
                    data=b"flood %d" % number,
                    topicIDs=[GOOD_TOPIC],
                    from_id=attacker.host.get_id().to_bytes(),
                    seqno=number.to_bytes(8, "big"),
                )
                message.signature = signer.sign(PUBSUB_SIGNING_PREFIX.encode() + message.SerializeToString())
                await stream.write(encode_varint_prefixed(rpc_pb2.RPC(publish=[message]).SerializeToString()))
        await honest.publish(GOOD_TOPIC, b"honest")
        await trio.sleep(2)
    status = await victim.check()
    floods = [each for each in status["heard"] if each.startswith("flood")]
    assert 0 < len(floods) <= at_once + made * (FLOOD_S + 4)
    assert "honest" in status["heard"]
    assert status["faults"]["publication refused"] > 10
    assert status["resident"] < MOST_RESIDENT


async def test_refused_peers_get_nothing() -> None:
    async with open_libp2p(SecretKey.generate()) as node, open_libp2p(SecretKey.generate()) as banned:
        await banned.dial(node.addresses()[0])

        async def answer(stream: Any) -> None:
            await stream.send(b"here")

        node.serve(ECHO, answer)
        stream = await banned.open(node.key, ECHO)
        assert await stream.receive() == b"here"
        node.refuse = lambda key: key == banned.key
        with pytest.raises(TransportError):
            await (await banned.open(node.key, ECHO)).receive()
        await node.disconnect(banned.key)
        await trio.sleep(0.5)
        assert banned.peers() == ()
        with pytest.raises(TransportError, match="refused"):
            await node.dial(banned.addresses()[0])
        with pytest.raises(TransportError):  # noqa: PT012 - the handshake may be over before it is refused
            await banned.dial(node.addresses()[0])
            await (await banned.open(node.key, ECHO)).receive()
        await trio.sleep(0.5)
        assert node.peers() == ()
        assert node.faults()["peer refused"] >= 1
        node.refuse = lambda key: False
        await trio.sleep(0.5)
        await banned.disconnect(node.key)
        await banned.dial(node.addresses()[0])
        assert await (await banned.open(node.key, ECHO)).receive() == b"here"
