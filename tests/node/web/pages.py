"""The pages of a small run, asked in this process, and what a visitor would read. For tests."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape

import httpx

from node.disk.home import Home
from node.web.app import make_app
from node.web.model.feeder import Feeder

PAGES = ("/", "/releases", "/contributors", "/verification", "/bans", "/network")


def fill(home: Home) -> None:
    """Takes the whole log into the pages' file."""
    feeder = Feeder(home)
    try:
        while feeder.step():
            pass
    finally:
        feeder.close()


@asynccontextmanager
async def visiting(home: Home, address: str = "192.0.2.7") -> AsyncIterator[httpx.AsyncClient]:
    """A visitor of the pages of a node's directory."""
    transport = httpx.ASGITransport(app=make_app(home), client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://pages.test") as client:
        yield client


def words(html: str) -> str:
    """The text of a page, without its style."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
