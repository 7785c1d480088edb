"""A run with a release, served by a real coordinator and a real verifier: a `World` laid into their directories.

So nothing is played or trained while the tests wait, and the processes go on as if they had made that log themselves.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.keyring import create_key
from node.disk.store import Store
from node.peering.transport import peer_id
from protocol.ticket import Ticket
from tests.e2e.process import Running, running
from tests.node.homes import make_home
from tests.node.keys import secret
from tests.verification.world import World

LONG = b"go" * (700 << 10)
"""A blob of two chunks, which the coordinator holds beside those of the run."""


class ServedRun:
    """The run as it was before the processes started, its tickets, and the coordinator."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.coordinator = make_home(world, folder / "coordinator")
        plain, websocket = free_ports(2)
        self._places = [f"/ip4/127.0.0.1/tcp/{plain}", f"/ip4/127.0.0.1/tcp/{websocket}/ws"]
        self.ticket, self.websocket_ticket = map(self._ticket, self._places)
        self.coordinator.store_ticket(Ticket.parse(self.ticket))
        self._outputs = (folder / f"coordinator-said-{start}" for start in count())
        self._process: Running | None = None

    def _ticket(self, place: str) -> str:
        address = f"{place}/p2p/{peer_id(secret(0).public)}"
        return Ticket(self.world.run, self.world.root.digest(), (address,)).encode()

    def start(self) -> None:
        """Starts the coordinator."""
        listen = [word for place in self._places for word in ("--listen", place)]
        self._process = Running(next(self._outputs), "coordinate", self.coordinator.directory, "--json", *listen)
        self._process.event("listening")

    def kill(self) -> None:
        """Ends the coordinator at once, if it runs."""
        if self._process is not None:
            self._process.process.kill()
            self._process.process.wait()


@contextmanager
def served_run(folder: Path) -> Iterator[ServedRun]:
    """A run that is served while the block runs; its verifier cosigns each head."""
    world = World()
    world.register("ada")
    world.cycle()
    run = ServedRun(world, folder)
    BlobStore(run.coordinator.public).put(LONG)
    verifier = verifier_home(world, folder / "verifier")
    try:
        run.start()
        with running(
            folder / "verifier-said", "verify", run.ticket, "--dir", verifier.directory,
            "--listen", "/ip4/127.0.0.1/tcp/0", "--threads", 1, "--json",
        ):  # fmt: skip
            yield run
    finally:
        run.kill()


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


def free_ports(number: int) -> list[int]:
    """Ports of loopback where nobody listens now."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
