"""Metrics over HTTP: the page, other requests, visitors that are slow or talk nonsense, a port that is taken."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import trio

from node.cli.main import status_of
from node.metrics.address import MetricsAddress, MetricsFault
from node.metrics.server import MOST_CALLERS, MetricsServer
from node.status import Status
from tests.node.screen.statuses import contributor


@asynccontextmanager
async def served(status: Callable[[], Status] = contributor) -> AsyncIterator[MetricsAddress]:
    server = MetricsServer(MetricsAddress("127.0.0.1", 0))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, status, {})
        yield server.address
        nursery.cancel_scope.cancel()


async def ask(address: MetricsAddress, request: bytes) -> tuple[str, str]:
    """Head and body of the answer."""
    with trio.fail_after(20):
        stream = await trio.open_tcp_stream(address.host, address.port)
        async with stream:
            await stream.send_all(request)
            answer = b"".join([part async for part in stream])
    head, _, body = answer.decode().partition("\r\n\r\n")
    return head, body


def get(target: str, method: str = "GET") -> bytes:
    return f"{method} {target} HTTP/1.1\r\nHost: here\r\n\r\n".encode()


async def test_the_page() -> None:
    async with served() as address:
        head, body = await ask(address, get("/metrics"))
        assert head.startswith("HTTP/1.1 200 ")
        assert "text/plain; version=" in head
        assert 'gonode_games{outcome="verified"} 1102.0\n' in body
        assert "\nprocess_open_fds " in body
        head, body = await ask(address, get("/metrics?x=1", "HEAD"))
        assert head.startswith("HTTP/1.1 200 ")
        assert body == ""


async def test_other_requests() -> None:
    async with served() as address:
        head, body = await ask(address, get("/"))
        assert head.startswith("HTTP/1.1 404 ")
        assert "/metrics" in body
        head, _ = await ask(address, get("/metrics", "POST"))
        assert head.startswith("HTTP/1.1 405 ")
        assert "Allow: GET, HEAD" in head
        head, _ = await ask(address, b"\x16\x03\x01 nonsense\r\n\r\n")
        assert head.startswith("HTTP/1.1 400 ")
        head, _ = await ask(address, b"GET /metrics HTTP/1.1\r\nx: " + b"a" * 100_000 + b"\r\n\r\n")
        assert head.startswith("HTTP/1.1 4")


async def test_a_status_that_fails_is_an_answer() -> None:
    def fails() -> Status:
        raise KeyError("games")

    async with served(fails) as address:
        head, body = await ask(address, get("/metrics"))
        assert head.startswith("HTTP/1.1 500 ")
        assert "'games'" in body


async def test_silent_visitors_keep_nobody_out_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.metrics.server.WITHIN_S", 0.3)
    async with served() as address, AsyncExitStack() as stack:
        for _ in range(MOST_CALLERS):
            await stack.enter_async_context(await trio.open_tcp_stream(address.host, address.port))
        await trio.sleep(1.0)
        head, _ = await ask(address, get("/metrics"))
        assert head.startswith("HTTP/1.1 200 ")


async def test_more_visitors_than_there_is_room_for_are_sent_away() -> None:
    async with served() as address, AsyncExitStack() as stack:
        streams = [await trio.open_tcp_stream(address.host, address.port) for _ in range(MOST_CALLERS + 3)]
        for stream in streams:
            await stack.enter_async_context(stream)
        await trio.sleep(0.1)
        for stream in streams[MOST_CALLERS:]:
            with trio.fail_after(5):
                assert await stream.receive_some(1) == b""
        await streams[0].send_all(get("/metrics"))
        assert (await streams[0].receive_some(100)).startswith(b"HTTP/1.1 200 ")


def test_a_port_that_is_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            MetricsFault, match=rf"^Metrics cannot be served at 127.0.0.1:{port}: Address already"
        ) as found:
            MetricsServer(MetricsAddress("127.0.0.1", port))
    assert status_of(found.value) == 2
