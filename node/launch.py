"""Opens a member of a run: lock, store, log, transport, links, gossip and follower, in that order, and closes them again.

Everything that runs beside a role runs in one nursery here; a failure in any of it ends the node with its sentence.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random

import trio

from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.lockfile import locked
from node.disk.store import Store
from node.events import Events
from node.following.follower import LogFollower, LogService, replay_log
from node.member import Member
from node.peering.gossip import Gossip
from node.peering.peers import Links, PeerTable
from node.peering.reach import RemoteReach
from node.peering.transport import Transport
from protocol.ed25519 import SecretKey
from protocol.entries import Entry
from protocol.ticket import Ticket
from protocol.words import counted
from verification.state import LogState

POLL_S = 0.5

OpenTransport = Callable[[SecretKey, Sequence[str]], AbstractAsyncContextManager[Transport]]


@asynccontextmanager
async def open_member(
    home: Home,
    ticket: Ticket,
    secret: SecretKey,
    open_transport: OpenTransport,
    events: Events,
    listen: Sequence[str] = ("/ip4/0.0.0.0/tcp/0",),
    clock: Callable[[], float] = time.time,
    seed: bytes | None = None,
    await_log: bool = True,
) -> AsyncIterator[Member]:
    """A member that follows the log from its peers; with `await_log` it is given once it has root and manifest."""
    rng = Random(seed or os.urandom(16))
    with locked(home.directory), Store(home.database) as store:
        state = LogState(ticket.run)
        replay_log(state, store)
        async with open_transport(secret, listen) as transport, trio.open_nursery() as nursery:
            reach = RemoteReach(transport, ticket)
            blob_store = BlobStore(home.public)
            blobs = BlobService(transport, blob_store)
            LogService(transport, state, store)
            table = PeerTable(store, secret.public, clock, rng)
            table.learn(ticket.addresses, fixed=True)
            links = Links(transport, table)
            member = Member(home, transport, state, store, blobs, blob_store, reach, events, clock, rng)

            def entered(index: int, entry: Entry) -> None:
                member.wake()

            follower = LogFollower(
                transport,
                state,
                store,
                reach.peers,
                home.directory,
                poll_s=POLL_S,
                on_entry=entered,
                on_cosigned=member.wake,
            )
            member.follower = follower
            gossip = open_gossip(member, secret, follower.hint)
            nursery.start_soon(links.run)
            nursery.start_soon(gossip.run)
            nursery.start_soon(follower.run)
            addresses = transport.addresses()
            events("listening", f"Listening at {', '.join(addresses)}.", address=addresses[0] if addresses else "")
            if state.size < 2:
                events(
                    "connecting",
                    f"Looking for the run {ticket.run.hex()[:16]} at "
                    f"{counted(len(ticket.addresses), 'address', 'addresses')}.",
                )
            if await_log:
                await member.until_size(2)
            yield member
            nursery.cancel_scope.cancel()


def open_gossip(member: Member, secret: SecretKey, on_head: Callable[[bytes], None]) -> Gossip:
    """The node's gossip; have-lists count from peers that this run knows."""

    def knows(key: bytes) -> bool:
        return member.state.size >= 2 and (
            member.state.registry.find(key) is not None or key in member.reach.coordinators()
        )

    return Gossip(
        member.transport,
        secret,
        member.state.run,
        knows=knows,
        on_head=on_head,
        now_ms=lambda: int(member.clock() * 1000),
    )
