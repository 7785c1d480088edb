"""Connections of browsers, each answered by Hypercorn in a task of its own: `answer_connections`.

Page: docs/pages.md. Invariant: whatever comes over one connection, it ends that one at most.
"""

import trio
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app
from starlette.types import ASGIApp


async def answer_connections(app: ASGIApp, config: Config, listener: trio.SocketListener) -> None:
    """Answers with `app` who connects, until cancelled.

    Hypercorn's own loop ends with the first connection that a fault of its protocols ends, such as an upgrade to HTTP/2
    with settings that are none.
    """
    wrapped, context = wrap_app(app, config.wsgi_max_body_size, "asgi"), WorkerContext(None)  # type: ignore[arg-type]

    async def answer(stream: trio.SocketStream) -> None:
        try:
            await TCPServer(wrapped, config, context, ConnectionState({}), stream)  # type: ignore[arg-type]
        except* Exception as faults:
            await config.log.warning("A connection was ended by a fault: %s.", _kind(faults))

    await trio.serve_listeners(answer, [listener])


def _kind(error: BaseException) -> str:
    """The class of a fault, whose words may be the peer's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
