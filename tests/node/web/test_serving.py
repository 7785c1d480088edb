"""`gonode web` as a server: it shows what the log has, more as it grows, at its address only, and once a directory."""

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import trio

from node.disk.home import Home
from node.disk.lockfile import DirectoryInUse
from node.disk.store import Head, Store
from node.web import serving
from node.web.model.feeder import Feeder
from node.web.serving import CannotServe, serve_pages
from protocol.checkpoint import Checkpoint, cosign
from protocol.layout import blob_path
from protocol.seeds import log_origin
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home, ticket_of
from verification.witness import witness_name

HALF = 40


@pytest.fixture
def half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The directory of a node that has only the first entries of a run so far."""
    monkeypatch.setattr(serving, "LOOK_AGAIN_S", 0.05)
    home = Home(tmp_path / "node")
    home.store_ticket(ticket_of(grown_world()))
    grow(home, HALF)
    return home


def grow(home: Home, size: int) -> None:
    """The node has the first `size` entries and their cosigned head."""
    world = grown_world()
    head = Checkpoint(log_origin(world.run), size, world.state.tree.root(size))
    lines = [cosign(head.body(), key, witness_name(key.public), 1_700_000_000 + size) for key in world.verifiers]
    with Store(home.database) as store:
        store.append(world.entries[store.log_size : size])
        store.put_head(Head(size, head.root_hash, head.sign(world.coordinator).with_signatures(lines).encode()))


async def said_something(said: list[str]) -> str:
    """The URL that the server says it serves at."""
    with trio.fail_after(60):
        while not said:
            await trio.sleep(0.02)
    return said[0].removeprefix("Pages of this run: ").partition(" ")[0]


async def size_at(url: str, is_enough: Callable[[int], bool]) -> int:
    """The log size that the pages speak for, once it is enough."""
    async with httpx.AsyncClient() as client:
        with trio.fail_after(60):
            while True:
                answer = await client.get(f"{url}/api/v1/releases")
                if answer.status_code == 200 and is_enough(size := answer.json()["seen"]["log_size"]):
                    return int(size)
                await trio.sleep(0.05)


async def test_pages_grow_with_the_log(half: Home) -> None:
    said: list[str] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_pages, half, "127.0.0.1", 0, said.append)
        url = await said_something(said)
        assert url.startswith("http://127.0.0.1:")
        assert await size_at(url, lambda size: size > 0) == HALF
        whole = grown_world().state.size
        grow(half, whole)
        assert await size_at(url, lambda size: size > HALF) == whole
        async with httpx.AsyncClient() as client:
            page = await client.get(url)
            rebound = await client.get(url, headers={"Host": "rebound.example"})
        assert f"at log {whole:,}" in page.text
        assert rebound.status_code == 421
        assert "server" not in page.headers
        with pytest.raises(DirectoryInUse, match=r"shows .* already"):
            await serve_pages(half, "127.0.0.1", 0, said.append)
        nursery.cancel_scope.cancel()


async def test_games_come_and_go_with_their_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOOK_AGAIN_S", 0.05)
    home, said = make_home(grown_world(), tmp_path / "coordinator"), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_pages, home, "127.0.0.1", 0, said.append)
        url = await said_something(said)
        await size_at(url, lambda size: size == grown_world().state.size)
        known = await games_at(url, lambda here: here["batches"] == here["known"] > 0)
        digest = grown_world().state.batches.all[0].header.blob_digest
        (home.public / blob_path(digest)).unlink()
        assert await games_at(url, lambda here: here["batches"] < here["known"]) == known
        nursery.cancel_scope.cancel()


async def games_at(url: str, is_enough: Callable[[dict[str, int]], bool]) -> int:
    """Of how many batches the log knows, once enough of their games are here."""
    async with httpx.AsyncClient() as client:
        with trio.fail_after(60):
            while True:
                here = (await client.get(f"{url}/api/v1/games")).json()["answer"]["here"]
                if is_enough(here):
                    return int(here["known"])
                await trio.sleep(0.1)


async def test_a_full_disk_ends_no_page(half: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "FAILED_S", 0.05)
    steps, said, are_full = Feeder.step, list[str](), [False]

    def step(feeder: Feeder) -> bool:
        if not are_full[0]:
            return steps(feeder)
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Feeder, "step", step)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_pages, half, "127.0.0.1", 0, said.append)
        url = await said_something(said)
        await size_at(url, lambda size: size == HALF)
        are_full[0] = True
        grow(half, grown_world().state.size)
        with trio.fail_after(60):
            while len(said) < 2:
                await trio.sleep(0.05)
        assert said[1].startswith("The log is not taken in: database or disk is full.")
        assert await size_at(url, lambda size: size > 0) == HALF
        are_full[0] = False
        assert await size_at(url, lambda size: size > HALF) == grown_world().state.size
        nursery.cancel_scope.cancel()
    assert len(said) == 2


async def test_a_signal_ends_it(half: Home) -> None:
    said: list[str] = []
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_pages, half, "127.0.0.1", 0, said.append)
            await said_something(said)
            os.kill(os.getpid(), signal.SIGTERM)


async def test_an_address_that_is_taken(half: Home) -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        port = listener.socket.getsockname()[1]
        with pytest.RaisesGroup(
            pytest.RaisesExc(CannotServe, match=f"at 127.0.0.1, port {port}: Address"),
            allow_unwrapped=True,
            flatten_subgroups=True,
        ):
            await serve_pages(half, "127.0.0.1", port, print)


@pytest.mark.parametrize("name", ["pages.db", "games.db"])
def test_a_file_that_cannot_be_opened_is_named(half: Home, name: str) -> None:
    (half.directory / name).mkdir()
    refusal = gonode("web", "--dir", half.directory, "--port", 0).refusal()
    assert f"{half.directory / name} cannot be used: unable to open database file." in refusal


def test_wrong_use_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "No run is below" in gonode("web").refusal()
    for name in ("one", "two"):
        Home(tmp_path / ".gonode" / name).store_ticket(ticket_of(grown_world()))
    assert "(one, two)" in gonode("web").refusal()
    assert "no copy of the log" in gonode("web", "--dir", tmp_path / ".gonode" / "one").refusal()
    assert f"There is no directory {tmp_path / 'none'}." in gonode("web", "--dir", tmp_path / "none").refusal()
    (tmp_path / "empty").mkdir()
    assert "no run is here" in gonode("web", "--dir", tmp_path / "empty").refusal()
    assert list((tmp_path / "empty").iterdir()) == []
    assert "without --static" in gonode("web", "--static", tmp_path / "out", "--port", 1).refusal()
    assert "wants an IP address" in gonode("web", "--proxy", "front").refusal()
    assert "with --static" in gonode("web", "--folder", "public/").refusal()
