"""A whole network in one process: the roles' own code over the memory transport, on a virtual clock, with seeded everything.

Nodes are started, stopped, killed at any write and started again from what their disk held then. What a node says goes to
`events`; what must not be lost is gathered by a `Ledger` at every kill. An error that ends a node ends the simulation.
"""

import os
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from unittest.mock import patch

import trio
import trio._core._run as trio_run
import trio.testing

from native.canary import WrongMachine
from native.network import Kernel
from node.audits.folder_audit import FolderReader
from node.contributor.contributor import Contributor, Expelled
from node.coordinator.opening import open_coordinator
from node.disk.home import Home
from node.disk.keyring import create_key
from node.disk.store import Store
from node.engine.engine import Engine
from node.events import Field
from node.founding.founding import store_founding
from node.launch import open_member
from node.peering.memory.network import MemoryNetwork
from node.peering.transport import peer_id
from node.training.trainer_process import Train
from node.verifier.epoch_keeper import Distrusted
from node.verifier.verifier import Verifier
from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.manifest import Manifest
from protocol.record import Record
from protocol.registration import Invite
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import run_id
from protocol.ticket import Ticket
from protocol.types import UNSET, ZERO
from tests.sim import inline_trainer
from tests.sim.disk import Killed, snapshot, watched_disks
from tests.sim.inline_engine import InlineEngine
from tests.sim.ledger import Ledger
from tests.sim.nodes import Event, Life, MakeContributor, Node
from tests.verification.remembered import remembered
from verification.audit.audit import AuditOptions, AuditReport, audit
from verification.state import LogState

START_UNIX_S = 1_800_000_000
EPOCHS = 100
IN_FLIGHT = 2
LATE = ("needs no verdict any more", "subject has no verdict")
"""A verdict on a gate that has ended, and the opening that follows it."""
OVER = re.compile(r"Release (\d+) is no longer played")
"""Of a batch whose node was away for too long."""
OVERTAKEN = ("has its verdict already", "by another verifier than the verdict")


class Simulation:
    """A founded run and its nodes. Use `simulated`.

    `grow`: what the coordinator is asked for at its next starts; `train`: its trainer.
    """

    def __init__(
        self, folder: Path, nursery: trio.Nursery, network: MemoryNetwork, manifest: Manifest, word: str
    ) -> None:
        self.folder = folder
        self.network = network
        self.manifest = manifest
        self.word = word
        self.grow: str | None = None
        self.train: Train = inline_trainer.train
        self.events: list[Event] = []
        self.ledger = Ledger()
        self.nodes: dict[str, Node] = {}
        self._nursery = nursery
        self._prefix = f"{folder}/"
        self._homes: dict[str, Node] = {}

    # ---- founding

    def found(self, verifiers: int, kernel: Kernel, game_s: float) -> None:
        """Makes the run, its coordinator and its verifiers."""
        names = [f"verifier {number}" for number in range(verifiers)]
        roles = [Role(COORDINATOR, self.key("coordinator").public, "coordinator")]
        roles += [Role(VERIFIER, self.key(name).public, name.replace(" ", "-")) for name in names]
        root = Root(ZERO, 1, 1, (self.key("root").public,), tuple(roles), verifiers // 2 + 1)
        self.run = run_id(root.encode(), self.manifest.encode())
        node = self._add("coordinator", "coordinator", InlineEngine(game_s=game_s))
        address = f"/ip4/192.0.2.1/tcp/4001/p2p/{peer_id(node.host.public)}"
        self.ticket = Ticket(self.run, root.digest(), (address,))
        node.home.store_ticket(self.ticket)
        store_founding(node.home, (root.seal(self.key("root")), self.manifest.seal(self.key("root"))))
        for name in names:
            verifier = self._add(name, "verifier", InlineEngine(kernel, game_s))
            with Store(verifier.home.database) as store:
                for epoch in range(EPOCHS):
                    store.put(f"epoch/{epoch}", self.digest(f"{name} epoch {epoch}"))

    def invite(
        self, name: str, engine: Engine | None = None, make: MakeContributor = Contributor, honest: bool = True
    ) -> Node:
        """Adds a contributor."""
        node = self._add(name, "host", engine or InlineEngine(), node_host="")
        node.make, node.is_honest = make, honest
        invite = Invite(self.run, self.digest(f"invite {name}")[:16], UNSET)
        node.invite = invite.seal(self.key("coordinator")).encode()
        return node

    def key(self, name: str) -> SecretKey:
        """The secret key of `name`."""
        return SecretKey(self.digest(f"key {name}"))

    def digest(self, text: str) -> bytes:
        """What stands for `text` in this simulation."""
        return sha256(f"{self.word} {text}".encode()).digest()

    def _add(self, name: str, role: str, engine: Engine, node_host: str = " host") -> Node:
        home = Home(self.folder / name.replace(" ", "-") / "0")
        node = self.nodes[name] = Node(name, self.key(name), self.key(name + node_host), home, engine)
        self._homes[node.word] = node
        create_key(home.key("host"), node.host)
        if role != "host":
            create_key(home.key(role), node.secret)
        return node

    # ---- nodes

    @property
    def coordinator(self) -> Node:
        """The coordinator."""
        return self.nodes["coordinator"]

    @property
    def verifiers(self) -> list[Node]:
        """The verifiers."""
        return [node for name, node in self.nodes.items() if name.startswith("verifier")]

    @property
    def contributors(self) -> list[Node]:
        """The contributors."""
        return [node for node in self.nodes.values() if node.invite]

    @property
    def state(self) -> LogState:
        """The coordinator's state."""
        return self.coordinator.state

    def start(self, *nodes: Node) -> None:
        """Starts these nodes, or all."""
        for node in nodes or self.nodes.values():
            assert not node.is_alive
            life = Life()
            node.lives.append(life)
            node.member = node.role = None
            self._nursery.start_soon(self._live, node, life, node.home)

    def kill(self, node: Node) -> None:
        """Ends a node at this moment, without any cleanup: its next life begins with what its disk holds now."""
        life, home = node.life, node.home
        assert node.is_alive
        life.is_killed = True
        node.home = Home(home.directory.with_name(str(len(node.lives))))
        snapshot(home.directory, node.home.directory)
        if self.network.node(node.host.public) is not None:
            self.network.kill(node.host.public)
        life.scope.cancel()
        if node.home.database.exists():
            self.ledger.note(node)

    def kill_at_write(self, node: Node, writes: int) -> None:
        """Kills a node before the write that is `writes` writes away."""
        node.life.last_write = node.life.writes + writes

    def break_disk(self, node: Node, writes: int, error: int) -> None:
        """Has a node's disk take nothing from the write that is `writes` away, until its next life."""
        node.life.fault, node.life.fault_at = error, node.life.writes + writes

    async def restart(self, node: Node) -> None:
        """Starts a node again once its last life is over."""
        await node.life.ended.wait()
        self.start(node)

    async def stop(self, node: Node) -> None:
        """Ends a node in good order, as `gonode stop` does."""
        node.life.scope.cancel()
        await node.life.ended.wait()

    async def finish(self, within_s: float = 3600.0) -> None:
        """Ends the network as `gonode local` does: contributors, verifiers, coordinator; each drained before the next."""
        with trio.fail_after(within_s):
            for group in (self.contributors, self.verifiers):
                alive = [node for node in group if node.is_alive]
                for node in alive:
                    await self.opened(node)
                    node.role.drain()  # type: ignore[union-attr]
                for node in alive:
                    await node.life.ended.wait()
                self.coordinator.role.quiesce()  # type: ignore[union-attr]
            await self.stop(self.coordinator)

    async def opened(self, node: Node) -> None:
        """Returns once a node's role exists."""
        while node.role is None:
            await trio.sleep(0.1)

    async def until(self, condition: Callable[[], Any], within_s: float = 3600.0) -> None:
        """Returns once `condition` holds, looked at ten times a second; fails after `within_s`."""
        with trio.move_on_after(within_s) as scope:
            while not condition():
                await trio.sleep(0.1)
        assert not scope.cancelled_caught, f"not within {within_s:g} s; the last events: {self.tail()}"

    def tail(self, count: int = 12) -> str:
        """The last things that were said."""
        return "\n".join(f"{e.at_s:9.2f} {e.node:12} {e.name:10} {e.text}" for e in self.events[-count:])

    def said(self, name: str, node: Node | None = None) -> list[Event]:
        """What was said under a name, by one node or by any."""
        return [event for event in self.events if event.name == name and node in (None, self.nodes[event.node])]

    def refused(self) -> list[str]:
        """What was refused, other than for coming after its gate's end, or after a verifier that took over was faster."""
        harmless = LATE if len(self.verifiers) == 1 else LATE + OVERTAKEN
        return [
            event.text
            for event in self.said("refused")
            if event.values["kind"] != "gate-result" and not any(part in event.text for part in harmless)
        ]

    def outlived(self) -> set[tuple[bytes, bytes]]:
        """Series, by key and release, of which a batch was refused since its release had been followed by two others."""
        found = set()
        for event in self.said("refused"):
            if number := OVER.search(event.text):
                found.add((self.nodes[event.node].secret.public, self.state.releases.all[int(number[1])].id))
        return found

    # ---- what came of it

    def note(self) -> None:
        """Has the ledger read all disks."""
        for node in self.nodes.values():
            if node.home.database.exists():
                self.ledger.note(node)

    def entries(self, start: int = 0) -> list[Record]:
        """What the coordinator logged from `start` on."""
        with Store(self.coordinator.home.database) as store:
            return [parse_entry(entry).record for entry in store.iterate_log(start)]

    def audit(self, sample: int = 2) -> AuditReport:
        """Audits the coordinator's public folder against every head that any node ever had.

        Where the last of several verifiers ended, too few were left to cosign what it had logged last.
        """
        roots = tuple(self.ledger.heads(self.published))
        is_working = len(self.verifiers) > 1
        options = AuditOptions(run=self.run, sample=sample, known_heads=roots, is_working=is_working)
        return audit(FolderReader(self.coordinator.home.public), options)

    @property
    def published(self) -> int:
        """The size of the published log."""
        return int((self.coordinator.home.public / "checkpoint").read_text().splitlines()[1])

    def settle(self) -> None:
        """Checks, after `finish`, that nothing was lost, that all copies are one log, and that the audit passes."""
        self.note()
        self.ledger.verify(self)
        assert not self.said("service"), [event.text for event in self.said("service")]
        report = self.audit()
        assert report.ok, [check for check in report.checks if check.ok is False]

    # ---- one life

    async def _live(self, node: Node, life: Life, home: Home) -> None:
        try:
            with life.scope:
                await self._roles(node, life, home)
        except* Killed:
            assert life.is_killed
        except* (Distrusted, Expelled, WrongMachine):
            assert not node.is_honest
        except* (OSError, sqlite3.Error) as group:
            if life.fault is None:
                raise
            life.failure = group
        finally:
            life.ended.set()

    async def _roles(self, node: Node, life: Life, home: Home) -> None:
        def say(event: str, text: str, **values: Field) -> None:
            if not life.is_killed:
                self.events.append(Event(trio.current_time(), node.name, event, text, values))

        def clock() -> float:
            return START_UNIX_S + trio.current_time() + node.skew_s

        def open_transport(secret: SecretKey, listen: Any) -> Any:
            return self.network.open(secret)

        seed = f"{self.word} {node.name} {len(node.lives)}"
        if node is self.coordinator:
            opening = open_coordinator(
                home,
                node.engine,
                say,
                clock,
                open_transport,
                rng=Random(seed),
                train=self.train,
                grow=self.grow,
            )
            async with opening as role:
                node.role, node.member = role, role.intake._member
                await role.run()
            return
        async with open_member(
            home,
            self.ticket,
            node.host,
            open_transport,
            say,
            clock=clock,
            seed=seed.encode(),
            coordinator_first=not node.invite,
        ) as member:
            node.member = member
            runner: Verifier | Contributor
            if node.invite:
                runner = node.make(
                    member, node.secret, node.engine, "best", 2, node.invite, node.name.replace(" ", "-")
                )
            else:
                runner = node.make_verifier(member, node.secret, node.engine)
            node.role = runner
            await runner.run()

    def before_write(self, path: Path) -> None:
        """Kills the node whose file this is, if its time has come."""
        node = self._homes.get(str(path).removeprefix(self._prefix).partition("/")[0])
        if node is None or not node.is_alive or not path.is_relative_to(node.home.directory):
            return
        life = node.life
        life.writes += 1
        if life.last_write is not None and life.writes >= life.last_write:
            self.kill(node)
            raise Killed
        if life.fault is not None and life.fault_at is not None and life.writes >= life.fault_at:
            raise OSError(life.fault, os.strerror(life.fault), str(path))


@asynccontextmanager
async def simulated(
    folder: Path,
    manifest: Manifest,
    word: str = "sim",
    contributors: tuple[str, ...] = ("ada", "bob"),
    verifiers: int = 1,
    kernel: Kernel = Kernel.BEST,
    game_s: float = 2.0,
    **network: Any,
) -> AsyncIterator[Simulation]:
    """A founded run whose nodes are not started yet; at the end what still runs is cancelled."""
    trio_run._r.seed(word)
    async with trio.open_nursery() as nursery:
        simulation = Simulation(folder, nursery, MemoryNetwork(sum(word.encode()), **network), manifest, word)
        with watched_disks(simulation.before_write):
            simulation.found(verifiers, kernel, game_s)
            for name in contributors:
                simulation.invite(name, InlineEngine(game_s=game_s))
            yield simulation
            nursery.cancel_scope.cancel()


T = TypeVar("T")


def virtually(scenario: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """What a scenario gives that runs on a virtual clock of its own, its tasks in an order that its word gives.

    What all nodes would compute alike is computed once. The first of its errors leaves alone, in no group.
    """
    try:
        with remembered(), patch.object(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True):
            return trio.run(scenario, *arguments, clock=trio.testing.MockClock(autojump_threshold=0))
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from group
