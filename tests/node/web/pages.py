"""The pages of a small run, asked in this process, and what a visitor would read. For tests."""

import re
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from html import unescape

import httpx

from node.disk.home import Home
from node.web.app import make_app
from node.web.faults import Faults
from node.web.games.indexer import Indexer
from node.web.model.feeder import Feeder

HOST = "pages.test"
"""The name that visitors ask by."""

PAGES = ("/", "/releases", "/contributors", "/games", "/dumps", "/verification", "/bans", "/network")


def fill(home: Home) -> None:
    """Takes the whole log into the pages' file, and the games that are here into theirs."""
    feeder = Feeder(home)
    try:
        while feeder.step():
            pass
    finally:
        feeder.close()
    index(home)


def index(home: Home) -> None:
    """Takes in the games that are here."""
    indexer = Indexer(home)
    try:
        while indexer.step():
            pass
    finally:
        indexer.close()


@asynccontextmanager
async def visiting(
    home: Home, address: str = "192.0.2.7", hosts: Collection[str] = (), said: list[str] | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A visitor of the pages of a node's directory; with `hosts` they are for these names alone. `said`: what they tell."""
    faults = Faults(([] if said is None else said).append)
    transport = httpx.ASGITransport(app=make_app(home, faults, hosts=hosts), client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        yield client


def words(html: str) -> str:
    """The text of a page, without its style."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
