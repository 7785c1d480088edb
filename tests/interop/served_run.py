"""A run with a release, served by a real coordinator and a real verifier: a `World` laid into their directories.

So nothing is played or trained while the tests wait, and the processes go on as if they had made that log themselves.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.keyring import create_key
from node.disk.store import Store
from node.peering.transport import peer_id
from protocol.ticket import Ticket
from tests.e2e.process import running
from tests.node.homes import make_home
from tests.node.keys import secret
from tests.verification.world import World

LONG = b"go" * (700 << 10)
"""A blob of two chunks, which the coordinator holds beside those of the run."""


@dataclass(frozen=True, slots=True)
class ServedRun:
    """The run as it was before the processes started, and the coordinator."""

    world: World
    ticket: str
    websocket_ticket: str
    coordinator: Home


@contextmanager
def served_run(folder: Path) -> Iterator[ServedRun]:
    """A run that is served while the block runs; its verifier cosigns each head."""
    world = World()
    world.register("ada")
    world.cycle()
    plain, websocket = free_ports(2)
    places = [f"/ip4/127.0.0.1/tcp/{plain}", f"/ip4/127.0.0.1/tcp/{websocket}/ws"]
    tickets = [
        Ticket(world.run, world.root.digest(), (f"{place}/p2p/{peer_id(secret(0).public)}",)) for place in places
    ]
    coordinator = make_home(world, folder / "coordinator")
    coordinator.store_ticket(tickets[0])
    BlobStore(coordinator.public).put(LONG)
    verifier = verifier_home(world, folder / "verifier")
    with (
        running(
            folder / "coordinator-said", "coordinate", coordinator.directory, "--json",
            "--listen", places[0], "--listen", places[1],
        ) as process,
        running(
            folder / "verifier-said", "verify", tickets[0].encode(), "--dir", verifier.directory,
            "--listen", "/ip4/127.0.0.1/tcp/0", "--threads", 1, "--json",
        ) as witness,
    ):  # fmt: skip
        process.event("listening")
        witness.event("listening")
        yield ServedRun(world, *(ticket.encode() for ticket in tickets), coordinator)


def verifier_home(world: World, directory: Path) -> Home:
    """The directory of the world's verifier, with the secrets of the epochs that it began."""
    home = Home(directory)
    (key,) = world.verifiers
    create_key(home.key("host"), secret(1))
    create_key(home.key("verifier"), key)
    with Store(home.database) as store:
        for epoch in range(world.epoch[key.public] + 1):
            store.put(f"epoch/{epoch}", world.secret(key, epoch))
    return home


def free_ports(count: int) -> list[int]:
    """Ports of loopback where nobody listens now."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
