"""What stands before every page: who may ask how often, by which methods, and what a browser may do with an answer.

Page: docs/pages.md. Invariants: no answer without the headers below; an address that asks too often gets 429 and no
database is opened for it.
"""

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from node.peering.pace import Pace

A_SECOND: Final = 20
AT_ONCE: Final = 100

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """An application behind a bucket for each address."""

    def __init__(self, app: ASGIApp, a_second: float = A_SECOND, at_once: float = AT_ONCE) -> None:
        self._app = app
        self._pace = Pace(a_second, at_once)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        client = scope.get("client")
        if self._pace.of(client[0] if client else "").take():
            await self._app(scope, receive, send_guarded)
            return
        refusal = PlainTextResponse(
            "You ask more often than this server answers; wait a few seconds.\n", 429, {"Retry-After": "5"}
        )
        await refusal(scope, receive, send_guarded)
