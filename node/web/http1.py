"""One connection in HTTP/1.1, by Hypercorn's protocol and without its ways to others: `Http1Connection`.

Page: docs/pages.md. Invariants: no upgrade to HTTP/2 is offered or taken, in which one connection may ask any number of
things at once; a request comes within Hypercorn's time for an idle connection, or the connection ends.
"""

from typing import Final

import h11
import trio
from hypercorn.config import Config
from hypercorn.events import Closed
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState
from hypercorn.utils import parse_socket_addr

from node.web.paced_stream import PacedStream

_SPOKEN: Final = (b"1.0", b"1.1")


class Http1(H11Protocol):
    """Hypercorn's HTTP/1.1; another version gets 505."""

    async def _check_protocol(self, event: h11.Request) -> None:
        """Takes no upgrade."""

    async def _create_stream(self, request: h11.Request) -> None:
        if request.http_version in _SPOKEN:
            await super()._create_stream(request)
        else:
            await self._send_error_response(505)
            await self.send(Closed())


class Http1Connection(TCPServer):
    """Answers one connection with `app` until either side ends it."""

    def __init__(self, app: AppWrapper, config: Config, context: WorkerContext, stream: trio.SocketStream) -> None:
        self._scope = trio.CancelScope()
        super().__init__(app, config, context, ConnectionState({}), PacedStream(stream, self._scope))  # type: ignore[arg-type]

    async def run(self) -> None:
        """As in the base, without TLS."""
        try:
            with self._scope:
                async with TaskGroup() as group:
                    await self._begin(group)
                    await self._read_data()
        except OSError:
            pass  # it was gone before it began
        finally:
            await self._close()

    async def _begin(self, group: TaskGroup) -> None:
        socket = self.stream.socket
        client, server = (
            parse_socket_addr(socket.family, name) for name in (socket.getpeername(), socket.getsockname())
        )
        self._task_group = group
        self.protocol = Http1(  # type: ignore[assignment]
            self.app,
            self.config,
            self.context,
            group,
            ConnectionState(self.state),
            False,
            client,
            server,
            self.protocol_send,
        )
        await self.idle_task.restart(group, self._idle_timeout)
