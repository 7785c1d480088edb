"""A public relay as a process: it gives a way to a node that nobody can dial, keeps networks, and ends as it is told."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.disk.home import Home, read_ticket
from node.disk.keyring import load_key
from node.following.client import LogClient
from node.peering.libp2p.opening import open_libp2p
from node.peering.transport import peer_id
from protocol.blob import blob_digest
from protocol.ed25519 import SecretKey
from protocol.ticket import Ticket
from tests.e2e.conftest import FinishedRun
from tests.e2e.process import FAST, LOOPBACK, TINY, Running, gonode, running, wait_for

CIRCUIT = "/p2p-circuit/p2p/"
BLOB = os.urandom(3_000_000)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A coordinator, a relay, and a contributor that listens nowhere."""

    folder: Path
    ticket: str
    relay: Running
    coordinator: Running

    @property
    def key(self) -> bytes:
        """The contributor's key."""
        return load_key(Home(self.folder / "hidden").key("host")).public

    def way(self, number: int = 0) -> str:
        """The contributor's address through the relay, over TCP (0) or WebSocket (1)."""
        addresses = self.relay.event("listening")["text"].removeprefix("Listening at ").rstrip(".").split(", ")
        return f"{addresses[number]}{CIRCUIT}{peer_id(self.key)}"


def status(home: Path) -> dict[str, Any]:
    ended = gonode("status", "--dir", home, "--json")
    assert ended.status == 0
    found: dict[str, Any] = ended.json
    return found


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hidden]:
    folder = tmp_path_factory.mktemp("hidden")
    founded = gonode("run", "init", folder / "coordinator", "--from", TINY)
    assert founded.status == 0
    ticket = founded.out.strip()
    invite = folder / "invite"
    invite.write_text(gonode("invite", folder / "coordinator").out, encoding="ascii")
    home = Home(folder / "hidden")
    BlobStore(home.public).put(BLOB)
    relaying = (
        "relay",
        ticket,
        "--dir",
        folder / "relay",
        "--listen",
        LOOPBACK,
        "--listen",
        f"{LOOPBACK}/ws",
        "--json",
    )
    joining = ("join", ticket, "--dir", home.directory, "--invite", invite, "--listen", "none", "--relay", "always")
    with (
        running(folder / "coordinate", "coordinate", folder / "coordinator", "--json") as coordinator,
        running(folder / "relaying", *relaying) as relay,
    ):
        coordinator.event("listening")
        relay.event("listening")
        with running(folder / "joining", *joining, "--kernel", FAST, "--threads", 1, "--json") as contributor:
            contributor.event("relayed")
            wait_for(lambda: status(folder / "relay")["places"] == 1, "a place at the relay")
            wait_for(lambda: status(home.directory)["log_size"] >= 2, "the log")
            yield Hidden(folder, ticket, relay, coordinator)


def test_log_and_blob_come_from_a_node_that_nobody_can_dial(hidden: Hidden, tmp_path: Path) -> None:
    async def main(way: str, folder: Path) -> None:
        async with open_libp2p(SecretKey.generate(), []) as stranger:
            assert await stranger.dial(way) == hidden.key
            heads = await LogClient(stranger).heads(hidden.key)
            assert heads.size >= 2
            store = BlobStore(folder)
            assert await BlobService(stranger, store).fetch(blob_digest(BLOB), [hidden.key], len(BLOB), 30) == BLOB

    for number in (0, 1):
        trio.run(main, hidden.way(number), tmp_path / str(number))


def test_nobody_dialed_it(hidden: Hidden) -> None:
    links = {link["peer"]: link for link in status(hidden.folder / "relay")["links"]}
    assert links[hidden.key.hex()]["direction"] == "in"
    assert status(hidden.folder / "hidden")["links"][0]["direction"] == "out"


def test_a_newcomer_finds_the_run_through_the_circuit_alone(hidden: Hidden) -> None:
    ticket = read_ticket(hidden.ticket)
    only = Ticket(ticket.run, ticket.root_digest, (hidden.way(1),)).encode()
    home = hidden.folder / "newcomer"
    with running(hidden.folder / "arriving", "relay", only, "--dir", home, "--listen", "none", "--json") as newcomer:
        newcomer.event("listening")

        def linked() -> dict[str, Any] | None:
            return next((link for link in status(home)["links"] if link["peer"] == hidden.key.hex()), None)

        assert CIRCUIT in wait_for(linked, "a link through the circuit")["address"]
        wait_for(lambda: status(home)["log_size"] >= 2, "the log")
        assert status(home)["role"] == "relay"
        assert gonode("stop", "--dir", home, "--json").json == {"ok": True}
        assert newcomer.ended().status == 0


def test_a_relay_ends_as_it_is_told(hidden: Hidden) -> None:
    for name, end in (("drained", "drain"), ("interrupted", None)):
        home = hidden.folder / name
        with running(hidden.folder / f"r-{name}", "relay", hidden.ticket, "--dir", home, "--listen", LOOPBACK) as relay:
            wait_for(lambda: (home / "lock").exists() and "Listening" in relay.out, "the relay")  # noqa: B023
            wait_for(lambda: gonode("status", "--dir", home).status == 0, "its status")  # noqa: B023
            if end is None:
                relay.interrupt()
            else:
                assert gonode(end, "--dir", home).status == 0
            assert relay.ended().status == 0
            assert relay.err == ""


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    assert "A ticket is needed" in gonode("relay").sentence
    assert gonode("relay", "gonode1nonsense", "--dir", tmp_path).status == 2
    ticket = Ticket(bytes(32), bytes(32), ()).encode()
    ended = gonode("relay", ticket, "--dir", tmp_path, "--listen", "/ip4/127.0.0.1/tcp/0/wss")
    assert (ended.status, "expected /ip4/ADDRESS/tcp/PORT" in ended.sentence) == (2, True)
    assert gonode("join", ticket, "--dir", tmp_path, "--relay", "perhaps").status == 2


def test_a_relay_keeps_the_newest_network(finished: FinishedRun, tmp_path: Path) -> None:
    finished.copy(tmp_path / "coordinator")
    ticket = tmp_path / "coordinator" / "ticket"
    with running(tmp_path / "coordinate", "coordinate", tmp_path / "coordinator", "--json") as coordinator:
        coordinator.event("listening")
        home = tmp_path / "relay"
        with running(tmp_path / "relaying", "relay", ticket, "--dir", home, "--listen", LOOPBACK, "--json") as relay:
            blob = bytes.fromhex(relay.event("network")["blob"])
            assert BlobStore(Home(home).public).has(blob)
            assert status(home)["networks"] == 1
