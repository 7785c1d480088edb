"""What stands before every page: who may ask how often, by which methods, and what a browser may do with an answer.

Page: docs/pages.md. Invariants: no answer without the headers below; an address that asks too often gets 429 and no
database is opened for it. Files count for nothing: an audit page reads hundreds of them. On a loopback address alone a
server answers only to that address' own names, so that no page from elsewhere reads it under a name of its own; and what
is more than reading is asked for by this server's own pages, or by no browser.
"""

import ipaddress
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from node.peering.pace import Pace

A_SECOND: Final = 20
AT_ONCE: Final = 100
READING: Final = frozenset({"GET", "HEAD"})
FILES: Final = ("/static/", "/public/")
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_NETWORK_BITS: Final = 64

ASKER: Final = "asker"
"""Under this name a request's state says whose bucket it takes from."""

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
    """An application behind a bucket for each address.

    `proxies`: addresses whose X-Forwarded-For is believed; `hosts`: the names that are answered to, all where it is empty.
    """

    def __init__(
        self,
        app: ASGIApp,
        a_second: float = A_SECOND,
        at_once: float = AT_ONCE,
        *,
        proxies: Collection[str] = (),
        hosts: Collection[str] = (),
    ) -> None:
        self._app = app
        self._pace = Pace(a_second, at_once)
        self._proxies = frozenset(_plain(each) for each in proxies)
        self._hosts = frozenset(hosts)

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

        headers = Headers(scope=scope)
        if self._hosts and _without_port(headers.get("host", "")) not in self._hosts:
            refusal = PlainTextResponse("This server is for its own machine; ask it by that machine's address.\n", 421)
            await refusal(scope, receive, send_guarded)
            return
        if scope["method"] not in READING and is_from_elsewhere(headers):
            refusal = PlainTextResponse("Only this server's own pages may ask for that in a browser.\n", 403)
            await refusal(scope, receive, send_guarded)
            return
        client = scope.get("client")
        bucket = bucket_of(self._asker(client[0] if client else "", headers))
        if scope["path"].startswith(FILES) or self._pace.take(bucket):
            state = {**scope.get("state", {}), ASKER: bucket}
            await self._app({**scope, "state": state}, receive, send_guarded)
            return
        refusal = PlainTextResponse(
            "You ask more often than this server answers; wait a few seconds.\n", 429, {"Retry-After": "5"}
        )
        await refusal(scope, receive, send_guarded)

    def _asker(self, client: str, headers: Headers) -> str:
        """The address that asks: behind proxies that are believed the last one that they tell of, but for them."""
        hops = [each.strip() for value in headers.getlist("x-forwarded-for") for each in value.split(",")]
        asker = client
        while hops and _plain(asker) in self._proxies:
            asker = hops.pop()
        return asker


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether a browser asks for a page that another server sent; one says so itself, a program need not."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site != "same-origin"
    origin = headers.get("origin")  # all that there is where a server is reached by plain HTTP
    return origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


def bucket_of(address: str) -> str:
    """Whose bucket an address takes from: that of an IPv4 address, or of the 64-bit network that an IPv6 one lies in."""
    plain = _plain(address)
    if ":" not in plain:
        return plain
    return str(ipaddress.ip_network((plain, _NETWORK_BITS), strict=False))


def _plain(address: str) -> str:
    """An address as it is written one way; empty for what is none."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()
