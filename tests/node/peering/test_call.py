"""Calls: answers, refusals, limits and deadlines."""

import pytest
import trio
import trio.testing

from node.peering.call import CallRefused, Malformed, call, serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.transport import MAX_FRAME, Misdeed, PeerGone, Stream, Timeout, TooMuch
from protocol.errors import BadProof, ParseError, TooLarge
from tests.node.keys import secret

PROTOCOL = "/gonode/test/1"


async def answer(peer: bytes, request: bytes) -> bytes:
    match request:
        case b"refuse":
            raise CallRefused("No, \nnot today.")
        case b"parse":
            raise ParseError("The request is nonsense.")
        case b"fail":
            raise RuntimeError("inside")
        case b"sleep":
            await trio.sleep_forever()
        case b"large":
            return bytes(MAX_FRAME - 1)
    return peer[:4] + request


async def test_calls(autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        serve_calls(b, PROTOCOL, answer, timeout_s=30, max_bytes=1000)
        await a.dial(b.addresses()[0])
        assert await call(a, b.key, PROTOCOL, b"hello") == a.key[:4] + b"hello"
        assert await call(a, b.key, PROTOCOL, b"") == a.key[:4]
        assert len(await call(a, b.key, PROTOCOL, b"large")) == MAX_FRAME - 1
        with pytest.raises(TooMuch):
            await call(a, b.key, PROTOCOL, b"large", max_bytes=1000)
        with pytest.raises(CallRefused, match=r"^No,  not today\.$"):
            await call(a, b.key, PROTOCOL, b"refuse")
        with pytest.raises(CallRefused, match="nonsense"):
            await call(a, b.key, PROTOCOL, b"parse")
        with pytest.raises(PeerGone):
            await call(a, b.key, PROTOCOL, b"fail")
        with pytest.raises(PeerGone):
            await call(a, b.key, PROTOCOL, bytes(1001))
        assert b.faults()["handler"] == 2
        start = trio.current_time()
        with pytest.raises(Timeout):
            await call(a, b.key, PROTOCOL, b"sleep", timeout_s=5)
        assert trio.current_time() - start == pytest.approx(5)
        with pytest.raises(PeerGone):
            await call(a, b.key, PROTOCOL, b"sleep", timeout_s=50)
        assert trio.current_time() - start == pytest.approx(35, abs=1)


async def test_requests_that_are_none_count_against_their_sender(autojump_clock: trio.testing.MockClock) -> None:
    told: list[tuple[bytes, Misdeed]] = []
    faults = [CallRefused("No."), BadProof("No."), Malformed("No."), ParseError("No."), TooLarge("No.")]

    async def refuse(peer: bytes, request: bytes) -> bytes:
        await trio.lowlevel.checkpoint()
        raise faults[request[0]]

    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.complain = lambda key, misdeed: told.append((key, misdeed))
        serve_calls(b, PROTOCOL, refuse)
        await a.dial(b.addresses()[0])
        for number in range(len(faults)):
            with pytest.raises(CallRefused, match=r"^No\.$"):
                await call(a, b.key, PROTOCOL, bytes([number]))
            assert len(told) == max(0, number - 1)
    assert set(told) == {(a.key, Misdeed.MALFORMED)}


@pytest.mark.parametrize("reply", [b"", b"\x02x", b"\xff"])
async def test_reply_that_is_none(reply: bytes, autojump_clock: trio.testing.MockClock) -> None:
    async def serve(stream: Stream) -> None:
        await stream.receive()
        await stream.send(reply)

    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve(PROTOCOL, serve)
        await a.dial(b.addresses()[0])
        with pytest.raises(PeerGone):
            await call(a, b.key, PROTOCOL, b"hello")


@pytest.mark.parametrize("reply", [b"\x01", b"\x01 \n"])
async def test_a_refusal_without_a_reason_is_a_sentence(reply: bytes, autojump_clock: trio.testing.MockClock) -> None:
    async def serve(stream: Stream) -> None:
        await stream.receive()
        await stream.send(reply)

    network = MemoryNetwork()
    async with network.open(secret(1)) as a, network.open(secret(2)) as b:
        b.serve(PROTOCOL, serve)
        await a.dial(b.addresses()[0])
        with pytest.raises(CallRefused, match=r"^Peer \S+ refused and gave no reason\.$"):
            await call(a, b.key, PROTOCOL, b"hello")
