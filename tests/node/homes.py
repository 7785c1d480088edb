"""Directories of nodes that have a run, made from the world that the tests of `verification` play."""

from functools import cache
from pathlib import Path

from node.disk.files import write_file
from node.disk.home import Home
from node.disk.keyring import create_key
from node.disk.store import Head, Store
from node.peering.transport import peer_id
from protocol.ticket import Ticket
from tests.node.keys import secret
from tests.verification.world import World

ADDRESS = f"/ip4/127.0.0.1/tcp/9/p2p/{peer_id(secret(0).public)}"
"""An address where nobody listens."""

TICKET = Ticket(bytes(range(32)), bytes(32), (ADDRESS,)).encode()
"""The ticket of a run that is not there."""


@cache
def grown_world() -> World:
    """A run with a contributor and two gated releases; look only."""
    world = World()
    world.register("ada")
    world.cycle()
    world.cycle()
    return world


def ticket_of(world: World) -> Ticket:
    """The world's ticket, which leads to nobody."""
    return Ticket(world.run, world.root.digest(), (ADDRESS,))


def make_home(world: World, directory: Path) -> Home:
    """A coordinator's directory with the world's log, its newest head, its public folder and its keys."""
    home = Home(directory)
    home.store_ticket(ticket_of(world))
    for name, key in (("root", world.root_key), ("coordinator", world.coordinator), ("host", secret(0))):
        create_key(home.key(name), key)
    for name, entry in zip(("root", "manifest"), world.entries[:2], strict=True):
        (directory / name).write_bytes(entry)
    with Store(home.database) as store:
        store.append(world.entries)
        store.put_head(Head(world.state.size, world.state.tree.root(), world.note()))
    for path, data in world.public().items():
        write_file(home.public / path, data)
    return home
