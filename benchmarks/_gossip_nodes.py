"""Processes that gossip and follow a log over libp2p; each tells the benchmark that started it what reached it, and when."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import trio

from node.coordinator.log_writer import LogWriter
from node.disk.store import Store
from node.following.follower import LogFollower
from node.following.service import LogService
from node.peering.gossip import Gossip
from node.peering.libp2p.mends import hardening
from node.peering.libp2p.opening import open_libp2p
from node.peering.libp2p.transport import Libp2pTransport
from node.peering.transport import address_key
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.ed25519 import SecretKey
from protocol.receipt import Tick
from tests.verification.world import World
from verification.state import LogState

Times = dict[int, float]
"""When something happened for each size of the log, on the clock that all processes of a machine share."""


@dataclass(slots=True)
class GossipNode:
    """A node in a process of its own: the announcer, one that listens, or a deaf one, whose subscription is dead."""

    process: BaseProcess
    orders: Connection
    is_deaf: bool
    told: Times = field(default_factory=dict)
    heard: Times = field(default_factory=dict)
    followed: Times = field(default_factory=dict)

    def read(self, within_s: float = 0.0) -> None:
        """Takes what the node told until now, or waits so long for it to tell something."""
        while self.orders.poll(within_s):
            what, size, at_s = self.orders.recv()
            getattr(self, what).setdefault(size, at_s)
            within_s = 0.0

    def reaches(self, size: int) -> bool:
        """Whether the node has so many entries."""
        return max(self.followed, default=0) >= size


@contextmanager
def gossip_nodes(listeners: int, deaf: int, links: int) -> Iterator[list[GossipNode]]:
    """The announcer, linked to `links` listeners, then all others, each of which dials `links` others.

    They are forked, for the library takes a second to import. All have the beginning of the log.
    """
    hardening.harden()
    world, context, rng = World(), get_context("fork"), Random(1)
    nodes: list[GossipNode] = []
    try:
        for number in range(1 + listeners + deaf):
            near, far = context.Pipe()
            is_deaf = number > listeners
            process = context.Process(target=_run, args=(world, number, is_deaf, far, near), daemon=True)
            process.start()
            far.close()
            nodes.append(GossipNode(process, near, is_deaf))
        addresses = [node.orders.recv() for node in nodes]
        for number, node in enumerate(nodes):
            choice = range(1, 1 + listeners) if number == 0 or node.is_deaf else range(1, len(nodes))
            others = [each for each in choice if each != number]
            node.orders.send((addresses[0], [addresses[each] for each in rng.sample(others, links)]))
        for node in nodes:
            node.orders.recv()
        yield nodes
    finally:
        for node in nodes:
            node.process.kill()
            node.process.join()


def _run(world: World, number: int, is_deaf: bool, orders: Connection, others_end: Connection) -> None:
    others_end.close()
    with tempfile.TemporaryDirectory(prefix="gonode-gossip-") as folder, Store(Path(folder) / "node.db") as store:
        trio.run(_live, world, number, is_deaf, orders, store, Path(folder))


async def _live(world: World, number: int, is_deaf: bool, orders: Connection, store: Store, folder: Path) -> None:
    state = LogState(world.run)

    def tell(what: str, size: int) -> None:
        orders.send((what, size, time.monotonic()))

    async with open_libp2p(SecretKey.generate(), ["/ip4/127.0.0.1/tcp/0"]) as transport:
        orders.send(transport.addresses()[0])
        LogService(transport, state, store)
        if number == 0:
            for entry in world.entries:
                state.apply(entry)
            store.append(world.entries)
        first, addresses = await _order(orders)
        for address in addresses:
            await transport.dial(address)
        orders.send("dialed")
        if number == 0:
            await _announce(
                world, transport, orders, LogWriter(state, store, world.coordinator, folder, time.monotonic)
            )
            return
        coordinator = address_key(first)
        follower = LogFollower(
            transport,
            state,
            store,
            transport.peers,
            folder,
            coordinators=lambda: [peer for peer in transport.peers() if peer == coordinator],
            on_entry=lambda index, entry: tell("followed", index + 1),
        )

        def hear(note: bytes) -> None:
            if not is_deaf:
                tell("heard", Checkpoint.parse(SignedNote.parse(note).text).size)
                follower.hint(note)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(Gossip(transport, world.run, on_head=hear, is_head=follower.is_head).run)
            nursery.start_soon(follower.run)


async def _announce(world: World, transport: Libp2pTransport, orders: Connection, log: LogWriter) -> None:
    """Signs the log as it is, then adds an entry and announces its head at each order."""
    gossip = Gossip(transport, world.run, on_head=lambda note: None)
    log.sign_head()
    size = len(world.entries)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gossip.run)
        gossip.announce_head(log.newest_note)
        while True:
            await _order(orders)
            log.append(Tick(world.run, size, size).seal(world.coordinator))
            log.sign_head()
            size += 1
            orders.send(("told", size, time.monotonic()))
            gossip.announce_head(log.newest_note)


async def _order(orders: Connection) -> tuple[str, list[str]]:
    given: tuple[str, list[str]] = await trio.to_thread.run_sync(orders.recv, abandon_on_cancel=True)
    return given
