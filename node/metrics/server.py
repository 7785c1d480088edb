"""Serves metrics over HTTP to whoever may reach the address: one page, read only.

Spec: `docs/metrics.md`. The port is taken when the server is made; a request is small and has its time,
who comes when `MOST_CALLERS` are there is sent away, and a status that
cannot be told is an answer of its own, so no visitor ends or slows the node.
"""

import socket
import time
from collections.abc import Callable, Mapping
from typing import Final

import h11
import trio
from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector, generate_latest

from node.control import Command
from node.metrics.address import MetricsAddress, MetricsFault
from node.metrics.families import StatusCollector
from node.status import Status

PATH: Final = "/metrics"
MOST_BYTES: Final = 16_384
MOST_CALLERS: Final = 16
WITHIN_S: Final = 10.0
_WAITING: Final = 64
_PLAIN: Final = "text/plain; charset=utf-8"


class MetricsServer:
    """Listens at `address` from when it is made; raises MetricsFault."""

    def __init__(self, address: MetricsAddress) -> None:
        self._listener = _listening(address)
        self._callers = trio.CapacityLimiter(MOST_CALLERS)
        host, port = self._listener.getsockname()[:2]
        self.address = MetricsAddress(host, port)

    async def run(self, status: Callable[[], Status], commands: Mapping[str, Command]) -> None:
        """Serves until cancelled; see `node.lifetime.Beside`."""
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._listener))

        async def serve(stream: trio.SocketStream) -> None:
            try:
                self._callers.acquire_nowait()
            except trio.WouldBlock:
                await trio.aclose_forcefully(stream)
                return
            try:
                with trio.move_on_after(WITHIN_S):
                    await _serve(stream, status)
            finally:
                self._callers.release()
            await trio.aclose_forcefully(stream)

        await trio.serve_listeners(serve, [listener])


def _listening(address: MetricsAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(_WAITING)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise MetricsFault(
            f"Metrics cannot be served at {address.encode()}: {error.strerror}. The node does not start; give another "
            "address or port (--metrics), or end the program that has this one."
        ) from None
    return listener


async def _serve(stream: trio.SocketStream, status: Callable[[], Status]) -> None:
    """Answers the request of one connection."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_BYTES)
    try:
        while not isinstance(event := connection.next_event(), h11.Request):
            if event is not h11.NEED_DATA:
                return
            connection.receive_data(await stream.receive_some(MOST_BYTES))
        code, kind, body = _answer(event, status)
    except h11.RemoteProtocolError:
        code, kind, body = 400, _PLAIN, b"This is no request that is understood here.\n"
        event = None
    except trio.BrokenResourceError:
        return
    headers = [("Content-Type", kind), ("Content-Length", str(len(body))), ("Connection", "close")]
    if code == 405:
        headers.append(("Allow", "GET, HEAD"))
    try:
        sent = connection.send(h11.Response(status_code=code, headers=headers)) or b""
        if event is None or event.method != b"HEAD":
            sent += connection.send(h11.Data(data=body)) or b""
        await stream.send_all(sent)
        await stream.send_eof()
        while await stream.receive_some(MOST_BYTES):
            continue  # what the caller still sends would make the kernel drop our answer
    except (trio.BrokenResourceError, h11.LocalProtocolError):
        return


def _answer(request: h11.Request, status: Callable[[], Status]) -> tuple[int, str, bytes]:
    """Status code, content type and body."""
    if request.target.partition(b"?")[0] != PATH.encode():
        return 404, _PLAIN, f"This node's metrics are at {PATH}.\n".encode()
    if request.method not in (b"GET", b"HEAD"):
        return 405, _PLAIN, b"Metrics can only be read.\n"
    try:
        text = generate_latest(StatusCollector(status, time.time)) + generate_latest(ProcessCollector(registry=None))
    except Exception as error:
        return 500, _PLAIN, f"The node cannot say how it stands: {error or type(error).__name__}\n".encode()
    return 200, CONTENT_TYPE_LATEST, text
