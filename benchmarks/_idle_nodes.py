"""A run in which nothing is played, by real processes: a coordinator, a verifier, relays and a contributor.

Each links to all others over libp2p with all its services. The contributor is one of the run with a release to play; its
engine's process is stopped (SIGSTOP), so that it goes on as while long games are played.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from node.control import ControlError, ask_status
from node.disk.home import Home
from node.disk.keyring import create_key
from node.peering.links import LINKS
from node.peering.transport import peer_id
from protocol.ed25519 import SecretKey
from protocol.ticket import Ticket
from tests.e2e.process import Running, child_of, running, wait_for
from tests.interop.served_run import free_ports, verifier_home
from tests.node.homes import make_home
from tests.node.keys import secret
from tests.verification.manifests import small_manifest
from tests.verification.world import World

EVERYWHERE = "/ip4/0.0.0.0/tcp/{}"
"""Not loopback alone, so that nodes look for others on the LAN."""

TICK_S = 10
"""As often the log grows where nothing happens, in runs of `gonode run init`."""

RELAYS = LINKS - 2
"""With the coordinator and the verifier these give the contributor its links."""

WITHIN_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")
_ENGINE = "native.serve"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took so far: processor seconds, and its resident set now and at most, in 10^6 bytes."""

    cpu_s: float
    mb: float
    peak_mb: float

    @classmethod
    def of(cls, pid: int) -> "Usage":
        """The usage of a process that runs, as Linux counts it."""
        folder = Path("/proc") / str(pid)
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        lines = (line.split() for line in (folder / "status").read_text().splitlines())
        sizes = {words[0]: int(words[1]) * 1024 / 1e6 for words in lines if words[0] in ("VmRSS:", "VmHWM:")}
        return cls((int(fields[11]) + int(fields[12])) / _TICKS, sizes["VmRSS:"], sizes["VmHWM:"])


@dataclass(frozen=True, slots=True)
class IdleNode:
    """A node that runs, and its engine's process, if it has one."""

    role: str
    home: Home
    command: Running
    engine: int | None

    @property
    def pid(self) -> int:
        """The node's own process."""
        return self.command.process.pid

    def links(self) -> int:
        """How many it has; none before it answers."""
        try:
            return len(ask_status(self.home.control).links)
        except ControlError:
            return 0


@contextmanager
def idle_nodes() -> Iterator[list[IdleNode]]:
    """The nodes, once each has its links and the whole log; the contributor last."""
    world = World(small_manifest(admission=replace(small_manifest().admission, tick_s=TICK_S)), word="idle")
    host = world.register("ada")
    world.cycle()
    with tempfile.TemporaryDirectory(prefix="gonode-idle-") as name, ExitStack() as stack:
        folder = Path(name)
        nodes: list[IdleNode] = []

        def start(role: str, home: Home, command: str, *words: object) -> None:
            output = folder / f"said-{len(nodes)}"
            running_one = stack.enter_context(running(output, command, *words, "--json"))
            running_one.event("listening")
            nodes.append(IdleNode(role, home, running_one, child_of(running_one.process.pid, _ENGINE)))

        coordinator = make_home(world, folder / "coordinator")
        (port,) = free_ports(1)
        address = f"/ip4/127.0.0.1/tcp/{port}/p2p/{peer_id(secret(0).public)}"
        ticket = Ticket(world.run, world.root.digest(), (address,))
        coordinator.store_ticket(ticket)
        joining = (ticket.encode(), "--listen", EVERYWHERE.format(0), "--dir")
        start("coordinator", coordinator, "coordinate", coordinator.directory, "--listen", EVERYWHERE.format(port))
        verifier = verifier_home(world, folder / "verifier")
        start("verifier", verifier, "verify", *joining, verifier.directory, "--threads", 1)
        for number in range(RELAYS):
            relay = Home(folder / f"relay-{number}")
            start("relay", relay, "relay", *joining, relay.directory)
        contributor = _contributor_home(folder / "contributor", host)
        start("contributor", contributor, "join", *joining, contributor.directory, "--threads", 1)
        engine = nodes[-1].engine
        assert engine is not None
        os.kill(engine, signal.SIGSTOP)
        stack.callback(_go_on, engine)
        nodes[-1].command.event("playing")
        for node in nodes:
            wait_for(lambda: node.links() >= LINKS, f"links of the {node.role}", WITHIN_S)  # noqa: B023
        yield nodes


def _contributor_home(directory: Path, host: SecretKey) -> Home:
    home = Home(directory)
    create_key(home.key("host"), host)
    return home


def _go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
