"""Connections to the pages: how many there are, in which protocol, and what slow or wrong ones get."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from hypercorn.config import Config
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from node.web import paced_stream
from node.web.connection_limits import ConnectionLimits, TooManyConnections
from node.web.connections import answer_connections
from node.web.faults import Faults
from node.web.http1 import Http1

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
HERE = PlainTextResponse("here")


@asynccontextmanager
async def serving(app: ASGIApp, limits: ConnectionLimits, said: list[str]) -> AsyncIterator[int]:
    """The port at which an application is served."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer_connections, app, Config(), listener, limits, Faults(said.append))
            yield listener.socket.getsockname()[1]
            nursery.cancel_scope.cancel()


async def connect(port: int) -> trio.SocketStream:
    return await trio.open_tcp_stream("127.0.0.1", port)


async def head(stream: trio.SocketStream) -> str:
    """What comes up to the end of an answer's head, and what came with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = await stream.receive_some()
        if not part:
            break
        data += part
    return data.decode()


async def asked(port: int, request: bytes = GET) -> str:
    """All that is answered to a request, whose connection ends."""
    async with await connect(port) as stream:
        await stream.send_all(request)
        await stream.send_eof()
        data = b""
        while part := await stream.receive_some():
            data += part
    return data.decode()


def test_connections_are_counted_in_all_and_an_address() -> None:
    limits = ConnectionLimits(3, 2, proxies=["192.0.2.9"])
    with limits.connection("192.0.2.1"), limits.connection("192.0.2.1"):
        with pytest.raises(TooManyConnections, match="Your address"), limits.connection("192.0.2.1"):
            pass
        with limits.connection("192.0.2.2"), pytest.raises(TooManyConnections, match="as many connections as it takes"):
            limits.connection("192.0.2.3").__enter__()
    with limits.connection("192.0.2.9"), limits.connection("192.0.2.9"), limits.connection("192.0.2.9"):
        pass
    with (
        limits.connection("2001:db8::1"),
        limits.connection("2001:db8::2"),
        pytest.raises(TooManyConnections, match="Your address"),
    ):
        limits.connection("2001:db8::3").__enter__()


async def test_one_too_many_is_told_so_until_another_ends() -> None:
    async with serving(HERE, ConnectionLimits(2), []) as port:
        async with await connect(port) as first, await connect(port) as second:
            for stream in (first, second):
                await stream.send_all(GET)
                assert (await head(stream)).startswith("HTTP/1.1 200")
            refused = await asked(port)
            assert refused.startswith("HTTP/1.1 503 Service Unavailable\r\n")
            assert refused.endswith(
                "\r\n\r\nThis server has as many connections as it takes; come again in a few seconds.\n"
            )
            assert "\r\nRetry-After: 5\r\n" in refused
        while not (await asked(port)).startswith("HTTP/1.1 200"):
            await trio.sleep(0.01)


async def test_who_says_nothing_holds_no_place_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Config, "keep_alive_timeout", 0.2)
    async with serving(HERE, ConnectionLimits(1), []) as port, await connect(port) as silent:
        for part in (b"GET / HT", b"TP/1.1\r\n", b"Host: "):  # each letter is no more patience
            await silent.send_all(part)
            await trio.sleep(0.1)
        while not (await asked(port)).startswith("HTTP/1.1 200"):
            await trio.sleep(0.01)


async def test_who_reads_nothing_holds_no_place_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paced_stream, "PIECE_WITHIN_S", 0.2)
    ends: list[str] = []

    async def long(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(1000):
                await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
            ends.append("all of it was sent")
        except trio.Cancelled:
            ends.append("given up")
            raise

    limits, said = ConnectionLimits(1), list[str]()
    async with serving(long, limits, said) as port, await connect(port) as stream:
        await stream.send_all(GET)
        while not ends:
            await trio.sleep(0.01)
        while "503" in (await asked_head(port)):
            await trio.sleep(0.01)
    assert ends[0] == "given up"
    assert said == []


async def asked_head(port: int) -> str:
    async with await connect(port) as stream:
        await stream.send_all(GET)
        return await head(stream)


@pytest.mark.parametrize(
    "more", ["Upgrade: h2c\r\nHTTP2-Settings: AAAA", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"]
)
async def test_no_other_protocol_is_offered(more: str) -> None:
    said: list[str] = []
    async with serving(HERE, ConnectionLimits(), said) as port:
        answer = await asked(
            port, f"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n{more}\r\n\r\n".encode()
        )
        assert answer.startswith("HTTP/1.1 200")
        assert answer.endswith("here")
        assert (await asked(port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).startswith("HTTP/1.1 505")
    assert said == []


async def test_a_fault_ends_its_connection_alone_and_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(protocol: Http1, event: object) -> None:
        raise ZeroDivisionError("whatever the peer said")

    said: list[str] = []
    async with serving(HERE, ConnectionLimits(), said) as port:
        with monkeypatch.context() as patch:
            patch.setattr(Http1, "handle", broken)
            for _ in range(3):
                assert await asked(port) == ""
        assert (await asked(port)).endswith("here")
    assert said == ["A connection was ended by a fault: ZeroDivisionError."]


async def test_an_answer_that_fails_is_told_of_once_with_all_that_led_to_it() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    said: list[str] = []
    async with serving(broken, ConnectionLimits(), said) as port:
        for _ in range(3):
            assert (await asked(port)).startswith("HTTP/1.1 500")
    assert len(said) == 1
    assert said[0].startswith("An answer failed: ZeroDivisionError in line ")
    assert said[0].splitlines()[1] == "Traceback (most recent call last):"
