"""Attacks on the directory of a node in another process: it stays up, stays small, and serves an honest peer."""

import json
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
import trio
from libp2p.kad_dht.pb.kademlia_pb2 import Message
from libp2p.utils.varint import encode_varint_prefixed, read_varint_prefixed_bytes_limited
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from node.peering.call import call
from node.peering.libp2p.kad.contacts import GROUP_IN_ALL
from node.peering.libp2p.kad.dials import DIALS_OF_TELLER, VAIN_OF_GROUP
from node.peering.libp2p.kad.directory import SERVED_OF_GROUP, directory_protocol
from node.peering.libp2p.kad.message import MAX_ANSWER, content_target
from node.peering.libp2p.kad.records import MAX_OF_PEER
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import TransportError, id_bytes
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.test_hardening import Victim, peer_of, raw_stream
from tests.node.peering.libp2p.victim import FIND, RUN

MOST_RESIDENT = 150 << 20
KAD = directory_protocol(RUN)
KEY = b"k" * 32
HERE = Multiaddr("/ip4/127.0.0.1/tcp/1").to_bytes()


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    made = Victim()
    yield made
    made.close()


async def check(victim: Victim) -> dict[str, Any]:
    """What the victim says of itself, after it served an honest peer."""
    status = await victim.check()
    assert status["resident"] < MOST_RESIDENT
    return status


async def ask(attacker: Libp2pTransport, victim: Victim, *requests: bytes) -> list[Message]:
    """The answers to requests on one stream, until it ends."""
    answers = []
    with suppress(Exception), trio.fail_after(1.5):
        stream = await raw_stream(attacker, victim, KAD)
        try:
            for request in requests:
                await stream.write(request)
                answer = Message()
                answer.ParseFromString(await read_varint_prefixed_bytes_limited(stream, MAX_ANSWER))
                answers.append(answer)
        finally:
            with trio.move_on_after(1, shield=True), suppress(Exception):
                await stream.reset()
    return answers


def request(kind: int, key: bytes = content_target(KEY), **fields: Any) -> bytes:
    return encode_varint_prefixed(Message(type=kind, key=key, **fields).SerializeToString())  # type: ignore[arg-type]


def record(peer: bytes, key: bytes = KEY, addresses: Sequence[bytes] = (HERE,)) -> bytes:
    provider = Message.Peer(id=id_bytes(peer), addrs=addresses)
    return request(Message.ADD_PROVIDER, content_target(key), providerPeers=[provider])


async def test_values_are_neither_kept_nor_given(victim: Victim) -> None:
    async with peer_of(victim) as attacker:
        for kind in (Message.PUT_VALUE, Message.GET_VALUE):
            assert await ask(attacker, victim, request(kind)) == []
        (pong,) = await ask(attacker, victim, request(Message.PING, b""))
        assert pong.type == Message.PING
    assert (await check(victim))["faults"]["directory refused"] >= 2


async def test_malformed_messages(victim: Victim) -> None:
    bad = [
        b"\xff\xff\xff\xff\x0f" + bytes(100),
        b"\xff" * 20,
        encode_varint_prefixed(bytes(64 << 10)),
        encode_varint_prefixed(b"\xff" * 100),
        encode_varint_prefixed(b"\x4a\xff\xff\xff\xff\x0f"),
        request(Message.FIND_NODE, b""),
        request(Message.GET_PROVIDERS, b"k" * 200),
        request(99),
        b"\x7f",
        *(encode_varint_prefixed(os.urandom(size)) for size in range(1, 60, 3)),
    ]
    async with peer_of(victim) as attacker:
        for message in bad:
            stream = await raw_stream(attacker, victim, KAD)
            await stream.write(message)
            await stream.close_write()
        await trio.sleep(0.5)
    assert (await check(victim))["records"] == 0


async def test_records_are_taken_from_the_provider_alone(victim: Victim) -> None:
    other = SecretKey.generate().public
    async with peer_of(victim) as attacker:
        own = attacker.key
        far = Multiaddr("/ip4/127.0.0.1/udp/1").to_bytes()
        for bad in (
            record(other),
            record(own, addresses=()),
            record(own, addresses=[far, b"\xff" * 50]),
            record(own, addresses=[b"x" * 5000]),
            request(Message.ADD_PROVIDER, b"short", providerPeers=[Message.Peer(id=id_bytes(own), addrs=[HERE])]),
        ):
            assert await ask(attacker, victim, bad) == []
        assert (await check(victim))["records"] == 0
        many = [Multiaddr(f"/ip4/127.0.0.1/tcp/{port}").to_bytes() for port in range(1, 500)]
        assert await ask(attacker, victim, record(own, addresses=many)) == []
        (answer,) = await ask(attacker, victim, request(Message.GET_PROVIDERS))
        (provider,) = answer.providerPeers
        assert (provider.id, list(provider.addrs)) == (id_bytes(own), many[:4])
    assert (await check(victim))["records"] == 1


async def test_idle_streams_hold_few_places(victim: Victim) -> None:
    async with peer_of(victim) as attacker:
        for _ in range(40):
            with suppress(Exception):
                await raw_stream(attacker, victim, KAD)
        await trio.sleep(0.3)
        assert (await check(victim))["faults"]["directory busy"] >= 40 - SERVED_OF_GROUP


async def test_no_request_makes_it_dial(victim: Victim) -> None:
    async with third_party() as (places, calls), peer_of(victim) as attacker:
        peers = [Message.Peer(id=id_bytes(os.urandom(32)), addrs=places) for _ in range(20)]
        for kind in (Message.FIND_NODE, Message.GET_PROVIDERS, Message.ADD_PROVIDER):
            await ask(attacker, victim, request(kind, closerPeers=peers, providerPeers=peers))
        await ask(attacker, victim, record(attacker.key, addresses=places), request(Message.GET_PROVIDERS))
        await trio.sleep(1)
        assert calls == []
    await check(victim)


async def test_lies_make_it_dial_few_strangers(victim: Victim) -> None:
    """Every answer names twenty peers at the third party's four ports; each look-up would dial them all."""

    async def lie(stream: Any) -> None:
        peers = [Message.Peer(id=id_bytes(os.urandom(32)), addrs=places) for _ in range(20)]
        await read_varint_prefixed_bytes_limited(stream, MAX_ANSWER)
        await stream.write(request(Message.GET_PROVIDERS, closerPeers=peers, providerPeers=peers[:3]))
        await stream.close()

    async with third_party() as (places, calls), peer_of(victim) as attacker:
        attacker.host.set_stream_handler(KAD, lie)
        for _ in range(6):
            found = json.loads(await call(attacker, victim.key, FIND, os.urandom(32)))
            assert len(found) <= 20
        assert 1 <= len(calls) <= min(DIALS_OF_TELLER, VAIN_OF_GROUP)
    await check(victim)


async def test_answers_are_bounded(victim: Victim) -> None:
    async def overflow(stream: Any) -> None:
        await read_varint_prefixed_bytes_limited(stream, MAX_ANSWER)
        await stream.write(b"\xff\xff\xff\xff\x07" + bytes(1 << 20))

    async def stall(stream: Any) -> None:
        await trio.sleep_forever()

    async with peer_of(victim) as attacker:
        for handler in (overflow, stall):
            attacker.host.set_stream_handler(KAD, handler)
            with pytest.raises(TransportError), trio.fail_after(9):
                await call(attacker, victim.key, FIND, os.urandom(32))
    await check(victim)


async def test_many_identities_get_few_contacts(victim: Victim) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(GROUP_IN_ALL + 4):
            sybil = await stack.enter_async_context(open_libp2p(SecretKey.generate(), run=RUN))
            await sybil.dial(victim.address)
        await trio.sleep(1.5)  # the contacts are taken from the connections once a second
        (answer,) = await ask(sybil, victim, request(Message.FIND_NODE))
        assert 4 <= len(answer.closerPeers) <= GROUP_IN_ALL
    assert (await check(victim))["contacts"] <= GROUP_IN_ALL


async def test_floods(victim: Victim) -> None:
    async with peer_of(victim) as attacker, trio.open_nursery() as nursery:
        found = [
            lambda: record(attacker.key, key=os.urandom(32)),
            lambda: request(Message.FIND_NODE, os.urandom(32)),
            lambda: request(Message.GET_PROVIDERS),
        ]
        with trio.move_on_after(3):
            for make in found * 2:
                nursery.start_soon(flood, attacker, victim, make)
            await trio.sleep_forever()
        nursery.cancel_scope.cancel()
    status = await check(victim)
    assert status["records"] <= MAX_OF_PEER + 1
    assert status["faults"]["directory refused"] > 0


async def flood(attacker: Libp2pTransport, victim: Victim, make: Any) -> None:
    """Sends what `make` gives as fast as it goes, 15 on each stream."""
    while True:
        await trio.lowlevel.checkpoint()
        with suppress(Exception), trio.fail_after(3):
            stream = await raw_stream(attacker, victim, KAD)
            await stream.write(b"".join(make() for _ in range(15)))
            await stream.close_write()
            while await stream.read(MAX_ANSWER):
                pass
            await stream.close()


@asynccontextmanager
async def third_party() -> AsyncIterator[tuple[list[bytes], list[int]]]:
    """Four listening ports as binary multiaddrs, and who called at which."""
    calls: list[int] = []

    async def answer(port: int, stream: trio.SocketStream) -> None:
        calls.append(port)

    async with trio.open_nursery() as nursery:
        ports = []
        for number in range(4):
            serve = partial(trio.serve_tcp, partial(answer, number), 0, host="127.0.0.1")
            (listener,) = await nursery.start(serve)  # type: ignore[arg-type]
            ports.append(listener.socket.getsockname()[1])
        yield [Multiaddr(f"/ip4/127.0.0.1/tcp/{port}").to_bytes() for port in ports], calls
        nursery.cancel_scope.cancel()
