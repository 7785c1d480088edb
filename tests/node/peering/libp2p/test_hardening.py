"""Attacks on a node in another process: it stays up, stays small, and serves an honest peer."""

import importlib.metadata
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from node.peering.call import call
from node.peering.libp2p.host import MESHSUB
from node.peering.libp2p.mends import hardening
from node.peering.libp2p.mends.held import MOST_HELD
from node.peering.libp2p.mends.yamux import MAX_STREAM_BUFFER
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import CannotListen, PeerGone, TransportError, Unreachable, address_key, peer_id
from protocol.ed25519 import SecretKey
from tests.node.peering.libp2p.victim import BAD_TOPIC, ECHO, GOOD_TOPIC, IDLE, LATE, LATE_FRAMES, RAISE, STATUS

PORT_OF_NOBODY = 1


class Victim:
    """A victim's process and address."""

    script = "victim.py"

    def __init__(self, *limits: int) -> None:
        root = Path(__file__).parents[4]
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name(self.script)), *map(str, limits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        assert self.process.stdout is not None
        self.addresses = self.process.stdout.readline().split()
        self.address = self.addresses[0]
        self.key = address_key(self.address)

    def close(self) -> None:
        """Asks the process to end and sees that it does so cleanly."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(10) == 0

    async def check(self) -> dict[str, Any]:
        """What the victim says of itself, asked by a new honest peer that it serves."""
        assert self.process.poll() is None
        async with peer_of(self) as honest:
            assert await call(honest, self.key, ECHO, b"x" * 300_000) == b"x" * 300_000
            status: dict[str, Any] = json.loads(await call(honest, self.key, STATUS, b""))
            return status


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    made = Victim()
    yield made
    made.close()


@pytest.fixture(scope="module")
def small_victim() -> Iterator[Victim]:
    made = Victim(16, 8, 12)
    yield made
    made.close()


@asynccontextmanager
async def peer_of(victim: Victim) -> AsyncIterator[Libp2pTransport]:
    """A new identity that is connected to the victim."""
    async with open_libp2p(SecretKey.generate()) as transport:
        assert await transport.dial(victim.address) == victim.key
        yield transport


async def raw_stream(transport: Libp2pTransport, victim: Victim, protocol: str) -> Any:
    """A stream of the library's, without frames."""
    from libp2p.peer.id import ID

    return await transport.host.new_stream(ID.from_base58(peer_id(victim.key)), [protocol])


async def send_rpc(transport: Libp2pTransport, victim: Victim, message: Any) -> None:
    """Sends a gossip message as it is, on a gossip stream of its own."""
    from libp2p.pubsub.pb import rpc_pb2
    from libp2p.utils import encode_varint_prefixed

    stream = await raw_stream(transport, victim, MESHSUB[1])
    await stream.write(encode_varint_prefixed(rpc_pb2.RPC(publish=[message]).SerializeToString()))
    await trio.sleep(0.3)


async def test_handler_that_raises(victim: Victim) -> None:
    async with peer_of(victim) as attacker:
        for _ in range(3):
            with pytest.raises(PeerGone):
                await call(attacker, victim.key, RAISE, b"x")
    assert (await victim.check())["faults"]["handler"] >= 3


async def test_five_bytes_of_gossip(victim: Victim) -> None:
    async with peer_of(victim) as attacker:
        for protocol in MESHSUB:
            stream = await raw_stream(attacker, victim, protocol)
            await stream.write(b"\x05\xff\xff\xff\xff\xff")
            await trio.sleep(0.2)
    assert (await victim.check())["faults"]["stream"] >= 3


async def test_gossip_message_with_malformed_key(victim: Victim) -> None:
    from libp2p.pubsub.pb import rpc_pb2

    async with peer_of(victim) as attacker:
        for key in (b"\xff" * 40, b"\x08\x01\x12\x20" + bytes(3), b"\x08\x09\x12\x00"):
            for source in (b"\x12\x20" + bytes(32), b"", b"\x00\x24\x08\x01\x12\x20" + b"\xff" * 32):
                message = rpc_pb2.Message(
                    data=b"x", topicIDs=[GOOD_TOPIC], from_id=source, seqno=key[:8], key=key, signature=b"s"
                )
                await send_rpc(attacker, victim, message)
    status = await victim.check()
    assert status["heard"] == []
    assert status["faults"]["signature"] >= 1


async def test_validator_that_raises(victim: Victim) -> None:
    async with peer_of(victim) as attacker:
        attacker.subscribe(BAD_TOPIC, None)  # type: ignore[arg-type]
        attacker.subscribe(GOOD_TOPIC, None)  # type: ignore[arg-type]
        await trio.sleep(1.5)
        await attacker.publish(BAD_TOPIC, b"bad")
        await trio.sleep(0.5)
        await attacker.publish(GOOD_TOPIC, b"good")
        await trio.sleep(0.5)
    status = await victim.check()
    assert status["faults"]["task"] >= 1
    assert status["heard"] == ["good"]


async def test_sender_that_ignores_the_window(victim: Victim) -> None:
    import struct

    before = (await victim.check())["resident"]
    async with peer_of(victim) as attacker:
        stream = await raw_stream(attacker, victim, IDLE)
        muxed = stream.muxed_stream
        body = bytes(60_000)
        header = struct.pack("!BBHII", 0, 0, 0, muxed.stream_id, len(body))
        sent = 0
        with pytest.raises(Exception), trio.fail_after(20):  # noqa: B017,PT011,PT012 - however the library says it
            while sent < 8 * MAX_STREAM_BUFFER:
                await muxed.conn._write_frame(header + body)
                sent += len(body)
        assert sent < 4 * MAX_STREAM_BUFFER
    assert (await victim.check())["resident"] - before < 2 * MAX_STREAM_BUFFER


async def test_many_who_keep_their_bounds(victim: Victim) -> None:
    """What each may have unread is little, of many together it is much: of the address that holds most some end."""
    import struct

    before = (await victim.check())["resident"]
    most = 0
    async with trio.open_nursery() as nursery:

        async def fill_windows() -> None:
            async with peer_of(victim) as attacker:
                streams = [(await raw_stream(attacker, victim, IDLE)).muxed_stream for _ in range(3)]
                with suppress(Exception):
                    for muxed in streams * 80:
                        header = struct.pack("!BBHII", 0, 0, 0, muxed.stream_id, 60_000)
                        await muxed.conn._write_frame(header + bytes(60_000))
                await trio.sleep_forever()

        async def begin_frames() -> None:
            async with peer_of(victim) as attacker:
                with suppress(Exception):
                    for _ in range(40):
                        stream = await raw_stream(attacker, victim, ECHO)
                        await stream.write((2_000_000).to_bytes(4, "big") + bytes(240_000))
                await trio.sleep_forever()

        for _ in range(6):
            nursery.start_soon(fill_windows)
            nursery.start_soon(begin_frames)
        for _ in range(4):
            await trio.sleep(1)
            most = max(most, (await victim.check())["resident"])
        nursery.cancel_scope.cancel()
    assert most - before < MOST_HELD + (24 << 20)
    with trio.fail_after(10):
        while (await victim.check())["resident"] - before > 16 << 20:
            await trio.sleep(0.2)


async def test_frame_that_is_too_long(victim: Victim) -> None:
    import struct

    async with peer_of(victim) as attacker:
        stream = await raw_stream(attacker, victim, IDLE)
        header = struct.pack("!BBHII", 0, 0, 0, stream.muxed_stream.stream_id, 15 << 20)
        await stream.muxed_stream.conn._write_frame(header)
        with trio.fail_after(5):
            while victim.key in attacker.peers():
                await trio.sleep(0.05)
    await victim.check()


async def test_reader_that_stalls_gets_all_in_the_end(victim: Victim) -> None:
    async with peer_of(victim) as honest:
        stream = await honest.open(victim.key, LATE)
        for number in range(LATE_FRAMES):  # more than the largest window
            await stream.send(b"%010d" % number + bytes(1_900_000))
        for number in range(LATE_FRAMES):
            assert await stream.receive() == b"%010d" % number
        await stream.close()


async def test_small_segments(victim: Victim) -> None:
    from libp2p.stream_muxer.yamux import yamux

    class Dribble:
        def __init__(self, data: bytes) -> None:
            self.data = data

        async def read(self, n: int) -> bytes:
            part, self.data = self.data[:1], self.data[1:]
            return part

    hardening.harden()
    read_exactly = vars(yamux)["read_exactly"]
    assert await read_exactly(Dribble(bytes(5000)), 5000) == bytes(5000)
    with pytest.raises(Exception, match="ended after 10 of 11"):
        await read_exactly(Dribble(bytes(10)), 11)

    async def forward(source: trio.SocketStream, target: trio.SocketStream) -> None:
        try:
            while data := await source.receive_some(500):
                await target.send_all(data)
        except trio.BrokenResourceError:
            return

    async def proxy(inner: trio.SocketStream) -> None:
        outer = await trio.open_tcp_stream("127.0.0.1", int(victim.address.split("/")[4]))
        async with outer, trio.open_nursery() as nursery:
            nursery.start_soon(forward, inner, outer)
            nursery.start_soon(forward, outer, inner)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, proxy, 0, host="127.0.0.1"))  # type: ignore[arg-type]
        port = listener.socket.getsockname()[1]
        async with open_libp2p(SecretKey.generate()) as honest:
            await honest.dial(f"/ip4/127.0.0.1/tcp/{port}/p2p/{peer_id(victim.key)}")
            frame = os.urandom(1_500_000)
            assert await call(honest, victim.key, ECHO, frame) == frame
        nursery.cancel_scope.cancel()


async def test_streams_have_a_quota(small_victim: Victim) -> None:
    async with peer_of(small_victim) as attacker:
        streams = []
        for _ in range(40):
            try:
                streams.append(await attacker.open(small_victim.key, IDLE))
            except TransportError:
                break
        await trio.sleep(0.5)
        status = await small_victim.check()
        assert status["idle"] <= 16
        assert status["faults"]["stream refused"] >= 1


async def test_addresses_have_a_quota_and_get_it_back(small_victim: Victim) -> None:
    refused = 0
    async with trio.open_nursery() as nursery, peer_of(small_victim) as honest:

        async def occupy(done: trio.Event) -> None:
            nonlocal refused
            async with open_libp2p(SecretKey.generate()) as attacker:
                try:
                    await attacker.dial(small_victim.address)
                except Unreachable:
                    refused += 1
                done.set()
                await trio.sleep_forever()

        for _ in range(12):
            done = trio.Event()
            nursery.start_soon(occupy, done)
            await done.wait()
        assert refused >= 4
        assert await call(honest, small_victim.key, ECHO, b"x") == b"x"
        nursery.cancel_scope.cancel()
    await trio.sleep(0.5)
    before = (await small_victim.check())["tasks"]
    for _ in range(14):  # more than all the connections that the library would take in its whole life
        after = (await small_victim.check())["tasks"]
    assert after < before + 10


async def test_negotiation_is_bounded(victim: Victim) -> None:
    before = (await victim.check())["resident"]
    stream = await trio.open_tcp_stream("127.0.0.1", int(victim.address.split("/")[4]))
    async with stream:
        with pytest.raises(trio.BrokenResourceError), trio.fail_after(8):  # noqa: PT012 - which write fails is open
            await stream.send_all(b"\xff\xff\xff\xff\x0f")
            for _ in range(1000):
                await stream.send_all(bytes(1 << 20))
    assert (await victim.check())["resident"] - before < 20 << 20


async def test_cancelled_writes_tear_nothing(victim: Victim) -> None:
    async with peer_of(victim) as honest:
        for number in range(20):
            with trio.move_on_after(0.002 * number):
                await call(honest, victim.key, ECHO, bytes(1_900_000))
        assert victim.key in honest.peers()
        assert await call(honest, victim.key, ECHO, b"still") == b"still"


async def test_slow_handshakes_shut_nobody_out(victim: Victim) -> None:
    port = int(victim.address.split("/")[4])

    async def shake_slowly(number: int) -> None:
        while True:
            with suppress(OSError, trio.BrokenResourceError):
                async with await trio.open_tcp_stream(
                    "127.0.0.1", port, local_address=f"127.0.1.{1 + number % 4}"
                ) as stream:
                    await stream.send_all(b"\x13")
                    while await stream.receive_some():
                        pass
            await trio.sleep(0.1)

    async with trio.open_nursery() as nursery:
        for number in range(128):
            nursery.start_soon(shake_slowly, number)
        await trio.sleep(1)
        for _ in range(3):
            with trio.fail_after(5):
                status = await victim.check()
        assert status["faults"]["handshake ended"] >= 1
        nursery.cancel_scope.cancel()


async def test_nothing_weaker_than_noise(victim: Victim) -> None:
    from libp2p import new_host
    from libp2p.crypto.ed25519 import create_new_key_pair
    from libp2p.peer.peerinfo import info_from_p2p_addr
    from libp2p.security.insecure.transport import PLAINTEXT_PROTOCOL_ID, InsecureTransport
    from multiaddr import Multiaddr  # type: ignore[import-untyped]

    keys = create_new_key_pair()
    host = new_host(key_pair=keys, sec_opt={PLAINTEXT_PROTOCOL_ID: InsecureTransport(keys)})
    host.get_network().retry_config.max_retries = 0  # type: ignore[attr-defined]
    async with host.run(listen_addrs=[]):
        with pytest.raises(Exception, match="unable to connect"):
            await host.connect(info_from_p2p_addr(Multiaddr(victim.address)))
    await victim.check()


async def test_dialing_says_what_is_wrong(victim: Victim) -> None:
    async with peer_of(victim) as honest:
        assert await honest.dial(victim.address) == victim.key
        place = victim.address.rpartition("/p2p/")[0]
        wrong = peer_id(SecretKey.generate().public)
        for address in (
            f"{place}/p2p/{wrong}",
            f"/ip4/127.0.0.1/tcp/{PORT_OF_NOBODY}/p2p/{wrong}",
            f"/nonsense/p2p/{wrong}",
            place,
            honest.addresses()[0],
        ):
            with pytest.raises(Unreachable):
                await honest.dial(address)
        with pytest.raises(Unreachable, match="does not speak"):
            await honest.open(victim.key, "/gonode/none/1")
        await honest.disconnect(victim.key)
        assert honest.peers() == ()
        await honest.dial(victim.address)
        assert await call(honest, victim.key, ECHO, b"back") == b"back"


async def test_a_port_has_one_node() -> None:
    async with open_libp2p(SecretKey.generate()) as first:
        place = first.addresses()[0].rpartition("/p2p/")[0]
        with pytest.raises(CannotListen, match="cannot listen"):
            async with open_libp2p(SecretKey.generate(), [place]):
                pass
    for bad in ("nonsense", "/ip4/127.0.0.1", "/ip4/1.2.3.4/udp/5/quic-v1"):
        with pytest.raises(CannotListen, match="address to listen at"):
            async with open_libp2p(SecretKey.generate(), [bad]):
                pass


async def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardening, "_hardened", False)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.9.0")
    with pytest.raises(TransportError, match=r"^This gonode needs libp2p 0\.8\.1 exactly and found 0\.9\.0; install"):
        async with open_libp2p(SecretKey.generate()):
            pass


async def test_the_heartbeat_of_gossip_stays_a_second() -> None:
    async with open_libp2p(SecretKey.generate()) as node:
        router = node.pubsub.router
        router.network_health_score = 0.0  # as with few links
        router._adapt_gossip_parameters()
        assert router.heartbeat_interval == 1


def test_what_no_node_uses_is_not_loaded() -> None:
    script = (
        "import sys, trio, node.roles\n"
        "from node.peering.libp2p.opening import open_libp2p\n"
        "from protocol.ed25519 import SecretKey\n"
        "async def main():\n"
        "    async with open_libp2p(SecretKey.generate()):\n"
        "        pass\n"
        "trio.run(main)\n"
        "print(*sorted({'torch', 'numpy', 'httpx', 'requests', 'zeroconf', 'rich', 'libp2p'} & set(sys.modules)))\n"
    )
    assert ran_alone(script) == (0, "libp2p\n", "")


def test_logging_stays_the_programs() -> None:
    script = (
        "import logging, trio\n"
        "from node.peering.libp2p.opening import open_libp2p\n"
        "from protocol.ed25519 import SecretKey\n"
        "async def main():\n"
        "    async with open_libp2p(SecretKey.generate()) as a, open_libp2p(SecretKey.generate()) as b:\n"
        "        await a.dial(b.addresses()[0]); await a.disconnect(b.key)\n"
        "trio.run(main)\n"
        "library = logging.getLogger('libp2p')\n"
        "assert library.propagate and not library.handlers\n"
        "assert not logging.getLogger().handlers\n"
    )
    assert ran_alone(script) == (0, "", "")
    assert logging.getLogger("libp2p").propagate


def ran_alone(script: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a program in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
    )
    return ran.returncode, ran.stdout, ran.stderr
