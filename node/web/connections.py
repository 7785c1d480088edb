"""Connections of browsers, each answered in a task of its own, and no more of them at once than are allowed.

Page: docs/pages.md. Invariants: whatever comes over one connection, it ends that one at most; one too many is told so, or
closed where many are; a fault is told of once (`node.web.faults`).
"""

import traceback
from pathlib import Path
from typing import Final

import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.utils import wrap_app
from starlette.types import ASGIApp, Receive, Scope, Send

from node.web.connection_limits import ConnectionLimits, TooManyConnections
from node.web.faults import Faults
from node.web.http1 import Http1Connection

MOST_REFUSED: Final = 64
REFUSED_WITHIN_S: Final = 2.0
_REQUEST_BYTES: Final = 1 << 16


async def answer_connections(
    app: ASGIApp, config: Config, listener: trio.SocketListener, limits: ConnectionLimits, faults: Faults
) -> None:
    """Answers with `app` who connects, until cancelled.

    Hypercorn's own loop ends with the first connection that a fault of its protocols ends.
    """
    wrapped = wrap_app(_told(app, faults), config.wsgi_max_body_size, "asgi")  # type: ignore[arg-type]
    context, refusing = WorkerContext(None), trio.CapacityLimiter(MOST_REFUSED)

    async def answer_one(stream: trio.SocketStream) -> None:
        try:
            with limits.connection(stream.socket.getpeername()[0]):
                await Http1Connection(wrapped, config, context, stream)
        except TooManyConnections as error:
            if refusing.available_tokens:
                async with refusing:
                    await _refuse(stream, str(error))
        except OSError:
            pass  # it was gone before it began

    async def answer(stream: trio.SocketStream) -> None:
        try:
            await answer_one(stream)
        except* Exception as faulty:
            faults.note(f"A connection was ended by a fault: {_kind(faulty)}.")

    await trio.serve_listeners(answer, [listener])


def _told(app: ASGIApp, faults: Faults) -> ASGIApp:
    """The application, of whose faults the first of a kind is told with all that leads to it."""

    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"An answer failed: {_kind(error)} in line {at.lineno} of {Path(at.filename).name}."
            faults.note(kind, "".join(traceback.format_exception(error)))

    return told


async def _refuse(stream: trio.SocketStream, sentence: str) -> None:
    """Answers 503, after the request came: else what is closed with bytes unread resets the answer too."""
    text = f"{sentence}\n".encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(text)}\r\nRetry-After: 5\r\nConnection: close\r\n\r\n"
    )
    with trio.move_on_after(REFUSED_WITHIN_S):
        try:
            await stream.receive_some(_REQUEST_BYTES)
            await stream.send_all(head.encode() + text)
            await stream.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass


def _kind(error: BaseException) -> str:
    """The class of a fault, whose words may be the peer's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
