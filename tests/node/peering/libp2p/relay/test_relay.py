"""Relays: circuits that work, and attacks on a relay and on the far end of circuits, in a process of their own."""

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
from libp2p.network.stream.exceptions import StreamError

from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.peering.addresses import CIRCUIT
from node.peering.call import call, serve_calls
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.quota import RelayLimits
from node.peering.libp2p.relay.circuit import HOP, STOP, read_message, write_message
from node.peering.libp2p.relay.relay import Relay
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import TransportError, Unreachable, peer_id
from protocol.blob import blob_digest
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.public_victim import RELAY_LIMITS, RESERVE
from tests.node.peering.libp2p.test_hardening import raw_stream
from tests.node.peering.libp2p.test_websocket import PublicVictim
from tests.node.peering.libp2p.victim import ECHO, IDLE

MOST_RESIDENT = 150 << 20


@pytest.fixture(scope="module")
def victim() -> Iterator[PublicVictim]:
    made = PublicVictim()
    yield made
    made.close()


async def echo(peer: bytes, request: bytes) -> bytes:
    return request


@asynccontextmanager
async def hidden_at(victim: PublicVictim) -> AsyncIterator[Libp2pTransport]:
    """A node that listens nowhere and has a place at the victim."""
    async with open_libp2p(SecretKey.generate(), []) as hidden:
        serve_calls(hidden, ECHO, echo)
        await hidden.dial(victim.address)
        await hidden.reserve(victim.key)
        yield hidden


@asynccontextmanager
async def stranger_of(victim: PublicVictim) -> AsyncIterator[Libp2pTransport]:
    async with open_libp2p(SecretKey.generate(), []) as stranger:
        await stranger.dial(victim.address)
        yield stranger


async def check(victim: PublicVictim) -> dict[str, Any]:
    """What the victim says of itself, after it relayed between two honest nodes."""
    status = await victim.check()
    assert status["resident"] < MOST_RESIDENT
    async with hidden_at(victim) as hidden, open_libp2p(SecretKey.generate(), []) as honest:
        assert await honest.dial(hidden.addresses()[0]) == hidden.key
        assert await call(honest, hidden.key, ECHO, b"through") == b"through"
    return status


async def settled(victim: PublicVictim, name: str, value: int) -> None:
    """Returns when the victim's status says so, within a few seconds."""
    for _ in range(40):
        if (await victim.check())[name] == value:
            return
        await trio.sleep(0.1)
    raise AssertionError(f"{name} is {(await victim.check())[name]}, not {value}")


async def reserved(transport: Libp2pTransport, victim: PublicVictim) -> bool:
    """Whether the victim gave a place."""
    try:
        await transport.reserve(victim.key)
    except Unreachable:
        return False
    return True


async def hop(transport: Libp2pTransport, victim: PublicVictim, **fields: Any) -> Any:
    """Sends one hop message; the stream and the answer."""
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage

    stream = await raw_stream(transport, victim, HOP)
    await write_message(stream, HopMessage(**fields))
    return stream, await read_message(stream, HopMessage)


async def connect(transport: Libp2pTransport, victim: PublicVictim, target: bytes) -> Any:
    """Asks for a circuit and lets nothing through it; the stream and the answer."""
    from libp2p.peer.id import ID
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage, PeerId

    peer = PeerId(id=ID.from_base58(peer_id(target)).to_bytes())
    return await hop(transport, victim, type=HopMessage.CONNECT, peer=peer)


async def test_a_hidden_node_is_reached_by_both_transports(victim: PublicVictim) -> None:
    async with hidden_at(victim) as hidden:
        through_tcp, *others = hidden.addresses()
        assert through_tcp == f"{victim.addresses[0]}{CIRCUIT}/p2p/{peer_id(hidden.key)}"
        through_ws = f"{victim.addresses[1]}{CIRCUIT}/p2p/{peer_id(hidden.key)}"
        assert others == [through_ws]
        for address in (through_tcp, through_ws):
            async with open_libp2p(SecretKey.generate(), []) as honest:
                assert await honest.dial(address) == hidden.key
                assert set(honest.peers()) == {victim.key, hidden.key}
                frame = os.urandom(1_900_000)
                assert await call(honest, hidden.key, ECHO, frame) == frame
                serve_calls(honest, ECHO, echo)
                assert await call(hidden, honest.key, ECHO, b"back") == b"back"
        assert not hidden.is_dialed()
    await settled(victim, "circuits", 0)
    await settled(victim, "places", 0)


async def test_dialing_through_a_relay_says_what_is_wrong(victim: PublicVictim) -> None:
    nobody = SecretKey.generate().public
    async with hidden_at(victim) as hidden, stranger_of(victim) as stranger:
        for address in (
            f"{victim.address}{CIRCUIT}/p2p/{peer_id(nobody)}",
            f"{victim.address}{CIRCUIT}/p2p/{peer_id(victim.key)}",
            f"{victim.address}{CIRCUIT}",
            f"{CIRCUIT}/p2p/{peer_id(hidden.key)}",
            f"{victim.address}{CIRCUIT}/p2p/{peer_id(nobody)}{CIRCUIT}/p2p/{peer_id(hidden.key)}",
            f"/ip4/127.0.0.1/tcp/1/p2p/{peer_id(nobody)}{CIRCUIT}/p2p/{peer_id(hidden.key)}",
        ):
            with pytest.raises(Unreachable):
                await stranger.dial(address)
        with pytest.raises(Unreachable, match="not connected directly"):
            await stranger.reserve(hidden.key)
    async with open_libp2p(SecretKey.generate()) as plain, open_libp2p(SecretKey.generate(), []) as node:
        await node.dial(plain.addresses()[0])
        with pytest.raises(Unreachable, match="does not relay"):
            await node.reserve(plain.key)
        assert node.addresses() == ()


async def test_no_relaying_in_a_circuit(victim: PublicVictim) -> None:
    async with hidden_at(victim) as hidden, open_libp2p(SecretKey.generate(), []) as honest:
        hidden.serve_relay()
        await honest.dial(hidden.addresses()[0])
        with pytest.raises(Unreachable, match="not connected directly"):
            await honest.reserve(hidden.key)
        stream = await honest.host.new_stream(_id(hidden.key), [HOP])
        from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage

        await write_message(stream, HopMessage(type=HopMessage.RESERVE))
        assert (await read_message(stream, HopMessage)).status == 202


async def test_a_flood_of_reservations(victim: PublicVictim) -> None:
    refused = 0
    async with AsyncExitStack() as stack:
        for _ in range(12):
            attacker = await stack.enter_async_context(stranger_of(victim))
            answers = [await reserved(attacker, victim) for _ in range(5)]
            assert len(set(answers)) == 1
            refused += not answers[0]
        assert refused == 12 - RELAY_LIMITS.reservations_per_address
        assert (await victim.check())["places"] == RELAY_LIMITS.reservations_per_address
    await settled(victim, "places", 0)
    await check(victim)


async def test_a_place_ends_with_its_connection(victim: PublicVictim) -> None:
    async with stranger_of(victim) as stranger, hidden_at(victim) as hidden:
        assert len(hidden.addresses()) == 2
        await hidden.disconnect(victim.key)
        assert hidden.addresses() == ()
        await settled(victim, "places", 0)
        stream, answer = await connect(stranger, victim, hidden.key)
        assert answer.status == 204
        await stream.reset()


async def test_nobody_reserves_for_another(victim: PublicVictim) -> None:
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import HopMessage, PeerId

    async with stranger_of(victim) as attacker, stranger_of(victim) as other:
        target = PeerId(id=_id(other.key).to_bytes())
        _, answer = await hop(attacker, victim, type=HopMessage.RESERVE, peer=target)
        assert answer.status == 100
        _, answer = await connect(attacker, victim, other.key)
        assert answer.status == 204
    await check(victim)


async def test_a_flood_of_circuits(victim: PublicVictim) -> None:
    async with AsyncExitStack() as stack:
        hidden = [await stack.enter_async_context(hidden_at(victim)) for _ in range(3)]
        statuses: Counter[int] = Counter()
        for _ in range(4):
            attacker = await stack.enter_async_context(stranger_of(victim))
            for number in range(9):
                _, answer = await connect(attacker, victim, hidden[number % 3].key)
                statuses[answer.status] += 1
        assert statuses[100] == RELAY_LIMITS.circuits
        assert statuses[201] == 4 * 9 - RELAY_LIMITS.circuits
        status = await victim.check()
        assert status["circuits"] == RELAY_LIMITS.circuits
        assert status["faults"]["circuit refused"] >= 20
    await settled(victim, "circuits", 0)
    await check(victim)


async def test_circuits_of_one_peer_are_few(victim: PublicVictim) -> None:
    async with hidden_at(victim) as one, hidden_at(victim) as two, stranger_of(victim) as attacker:
        found = [(await connect(attacker, victim, target.key))[1].status for target in (one, two, one, two)]
        assert found == [100] * RELAY_LIMITS.circuits_from_peer + [201] * (4 - RELAY_LIMITS.circuits_from_peer)
    await settled(victim, "circuits", 0)


async def test_far_ends_that_never_take_a_circuit(victim: PublicVictim) -> None:
    """Half-open stops: the far end takes the stream and says nothing, or nonsense."""
    async with hidden_at(victim) as silent, stranger_of(victim) as stranger:

        async def nothing(stream: Any) -> None:
            await trio.sleep_forever()

        async def nonsense(stream: Any) -> None:
            await stream.write(b"\x80" * 5000)

        silent.host.set_stream_handler(STOP, nonsense)
        _, answer = await connect(stranger, victim, silent.key)
        assert answer.status == 203
        silent.host.set_stream_handler(STOP, nothing)
        with trio.move_on_after(1):
            await connect(stranger, victim, silent.key)
        assert (await victim.check())["circuits"] == 1
    await settled(victim, "circuits", 0)
    await check(victim)


@pytest.mark.parametrize("protocol", [HOP, STOP])
async def test_garbage(victim: PublicVictim, protocol: str) -> None:
    messages = (
        b"",
        b"\x00",
        b"\xff" * 20,
        b"\x02\x08\x07",
        b"\x04" + b"\xff" * 4,
        b"\x80\x80\x80\x80\x10",
        b"\x05\xff\xff\xff\xff\xff",
        b"\x06\x08\x01\x12\x02\x0a\x00",
        b"\x81\x20" + bytes(4097),
        os.urandom(2000),
    )
    async with stranger_of(victim) as attacker:
        for data in messages * 2:
            stream = await raw_stream(attacker, victim, protocol)
            await stream.write(data + b" ")
            await stream.close_write()
            await trio.sleep(0.02)
        stream = await raw_stream(attacker, victim, protocol)
        with pytest.raises(StreamError), trio.fail_after(15):  # noqa: PT012 - which write fails is open
            while True:
                await stream.write(bytes(1 << 20))
    status = await check(victim)
    assert status["faults"]["relay message"] >= 10


async def test_silent_hops_end(victim: PublicVictim) -> None:
    before = (await victim.check())["tasks"]
    async with stranger_of(victim) as attacker:
        streams = [await raw_stream(attacker, victim, HOP) for _ in range(20)]
        await check(victim)
        for stream in streams:
            await stream.reset()
    await trio.sleep(0.5)
    assert (await victim.check())["tasks"] < before + 20


async def test_a_circuit_carries_its_share_and_ends(victim: PublicVictim) -> None:
    async with hidden_at(victim) as hidden, open_libp2p(SecretKey.generate(), []) as greedy:
        hidden.serve(IDLE, _swallow)
        await greedy.dial(hidden.addresses()[0])
        stream = await greedy.open(hidden.key, IDLE)
        sent = 0
        with pytest.raises(TransportError), trio.fail_after(20):  # noqa: PT012 - which frame fails is open
            while sent < 4 * RELAY_LIMITS.circuit_bytes:
                await stream.send(bytes(1 << 20))
                sent += 1 << 20
        assert sent <= RELAY_LIMITS.circuit_bytes + (2 << 20)
        with trio.fail_after(5):
            while hidden.key in greedy.peers():
                await trio.sleep(0.05)
        assert await greedy.dial(hidden.addresses()[0]) == hidden.key
        assert await call(greedy, hidden.key, ECHO, b"again") == b"again"
    await check(victim)


async def test_an_end_that_stalls_fills_no_relay(victim: PublicVictim) -> None:
    """The far end reads fast, then stalls: what is on its way stays within the windows that there were at first."""
    taken = 0
    async with hidden_at(victim) as stalling, stranger_of(victim) as attacker:

        async def take(stream: Any) -> None:
            nonlocal taken
            from libp2p.relay.circuit_v2.pb.circuit_pb2 import StopMessage

            stream.muxed_stream.grows = False
            await read_message(stream, StopMessage)
            await write_message(stream, StopMessage(type=StopMessage.STATUS, status=100))  # type: ignore[arg-type]
            while taken < 4 << 20:
                taken += len(await stream.read(65_536))
            await trio.sleep_forever()

        stalling.host.set_stream_handler(STOP, take)
        stream, answer = await connect(attacker, victim, stalling.key)
        assert answer.status == 100
        sent = 0
        with trio.move_on_after(5):
            while sent < RELAY_LIMITS.circuit_bytes:
                await stream.write(bytes(65_536))
                sent += 65_536
        assert sent - taken < 1 << 20
        await check(victim)


async def test_a_circuit_has_its_time() -> None:
    limits = RelayLimits(circuit_s=2)
    async with (
        open_libp2p(SecretKey.generate()) as relay,
        open_libp2p(SecretKey.generate(), []) as hidden,
        open_libp2p(SecretKey.generate(), []) as honest,
    ):
        relay.serve_relay(limits)
        serve_calls(hidden, ECHO, echo)
        await hidden.dial(relay.addresses()[0])
        await hidden.reserve(relay.key)
        await honest.dial(hidden.addresses()[0])
        assert await call(honest, hidden.key, ECHO, b"x") == b"x"
        with trio.fail_after(6):
            while hidden.key in honest.peers():
                await trio.sleep(0.05)
        assert relay.relaying() == (frozenset({hidden.key}), 0)


async def test_what_is_larger_than_a_circuit_comes_in_several(tmp_path: Path) -> None:
    """A network of 14 MiB over circuits of 6: each goes on where the one before ended."""
    blob = os.urandom(14 << 20)
    rounds = 0
    async with (
        open_libp2p(SecretKey.generate()) as relay,
        open_libp2p(SecretKey.generate(), []) as hidden,
        open_libp2p(SecretKey.generate(), []) as honest,
    ):
        relay.serve_relay(RelayLimits(circuit_bytes=6 << 20, bytes_s=64 << 20))
        source = BlobStore(tmp_path / "source")
        source.put(blob)
        BlobService(hidden, source)
        await hidden.dial(relay.addresses()[0])
        await hidden.reserve(relay.key)
        fetcher = BlobService(honest, BlobStore(tmp_path / "copy"))
        got = b""
        while not got:
            rounds += 1
            assert rounds < 8
            await honest.dial(hidden.addresses()[0])
            with suppress(TransportError):
                got = await fetcher.fetch(blob_digest(blob), [hidden.key], len(blob), 30)
    assert got == blob
    assert rounds >= 3


class LyingRelay(Relay):
    """Sends every circuit to one peer, whoever was asked for, or in another's name."""

    to: bytes | None = None
    name: bytes | None = None

    async def _connect(self, stream: Any, source: bytes, target_id: bytes) -> None:
        await super()._connect(stream, source, target_id if self.to is None else _id(self.to).to_bytes())

    async def _open_stop(self, target: Any, source: Any) -> Any:
        return await super()._open_stop(target, source if self.name is None else _id(self.name))


@asynccontextmanager
async def lying_relay() -> AsyncIterator[tuple[Libp2pTransport, LyingRelay]]:
    async with open_libp2p(SecretKey.generate()) as transport:
        yield transport, LyingRelay(transport.host, RelayLimits(), transport.addresses(), Counter())


async def test_a_relay_that_lies_about_the_peer_brings_nothing(victim: PublicVictim) -> None:
    async with (
        lying_relay() as (liar, relay),
        open_libp2p(SecretKey.generate(), []) as honest,
        open_libp2p(SecretKey.generate(), []) as wanted,
    ):
        await honest.dial(victim.address)
        told = json.loads(await call(honest, victim.key, RESERVE, liar.addresses()[0].encode()))
        assert any(CIRCUIT in address for address in told)
        await wanted.dial(liar.addresses()[0])
        await wanted.reserve(liar.key)
        relay.to = victim.key
        async with open_libp2p(SecretKey.generate(), []) as asker:
            with pytest.raises(Unreachable):
                await asker.dial(wanted.addresses()[0])
            assert wanted.key not in asker.peers()
            assert victim.key not in asker.peers()
        relay.name = SecretKey.generate().public
        async with open_libp2p(SecretKey.generate(), []) as asker:
            address = f"{liar.addresses()[0]}{CIRCUIT}/p2p/{peer_id(victim.key)}"
            with suppress(Unreachable):
                await asker.dial(address)
            with trio.fail_after(3):
                while victim.key in asker.peers():
                    await trio.sleep(0.05)
    assert (await check(victim))["faults"]["relay lied"] >= 1


async def test_circuits_only_from_relays_that_were_asked(victim: PublicVictim) -> None:
    """The victim has a place at nobody here, and its other links may offer it no circuit."""
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import PeerId, StopMessage

    async with stranger_of(victim) as attacker:
        for _ in range(60):
            stream = await raw_stream(attacker, victim, STOP)
            source = PeerId(id=_id(SecretKey.generate().public).to_bytes())
            await write_message(stream, StopMessage(type=StopMessage.CONNECT, peer=source))
            answer = await read_message(stream, StopMessage)
            assert answer.status == 202
            await stream.reset()
    await check(victim)


async def test_a_relay_that_offers_endless_half_open_circuits(victim: PublicVictim) -> None:
    from libp2p.relay.circuit_v2.pb.circuit_pb2 import PeerId, StopMessage

    async with lying_relay() as (liar, _), open_libp2p(SecretKey.generate(), []) as honest:
        await honest.dial(victim.address)
        await call(honest, victim.key, RESERVE, liar.addresses()[0].encode())
        statuses: Counter[int] = Counter()
        for _ in range(50):
            stream = await raw_stream(liar, victim, STOP)
            source = PeerId(id=_id(SecretKey.generate().public).to_bytes())
            await write_message(stream, StopMessage(type=StopMessage.CONNECT, peer=source))
            statuses[(await read_message(stream, StopMessage)).status] += 1
        assert statuses[100] <= 32
        assert statuses[201] >= 18
        await check(victim)
    await check(victim)


async def _swallow(stream: Any) -> None:
    while True:
        await stream.receive()


def _id(key: bytes) -> Any:
    from libp2p.peer.id import ID

    return ID.from_base58(peer_id(key))


async def test_a_relay_tells_where_it_is_announced() -> None:
    place = "/dns4/relay.example/tcp/4001"
    async with open_libp2p(SecretKey.generate(), announced=[place]) as relay, open_libp2p(SecretKey.generate()) as node:
        relay.serve_relay()
        await relay.dial(node.addresses()[0])  # so that the node did not dial it anywhere
        await node.reserve(relay.key)
        told = f"{place}/p2p/{peer_id(relay.key)}{CIRCUIT}/p2p/{peer_id(node.key)}"
        assert [each for each in node.addresses() if CIRCUIT in each] == [told]
