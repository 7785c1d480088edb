"""Opens a member of a run: lock, store, log, transport, links, gossip and follower, in that order, and closes them again.

Everything that runs beside a role is a service in one nursery here (`node.services`): one that fails is started again, and
an error that `node.fatal` names ends the node with its sentence.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
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
from node.peering.bans import Bans
from node.peering.conduct import Conduct
from node.peering.gossip import Gossip
from node.peering.links import Links
from node.peering.reach import RemoteReach
from node.peering.reachability import Reachability, UseRelays
from node.peering.table import PeerTable
from node.peering.transport import Transport
from protocol.ed25519 import SecretKey
from protocol.entries import Entry
from protocol.ticket import Ticket
from protocol.words import counted
from verification.state import LogState

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
    coordinator_first: bool = False,
    lan: bool = False,
    announced: Sequence[str] = (),
    relays: UseRelays = UseRelays.NEVER,
    serves_relay: bool = False,
) -> AsyncIterator[Member]:
    """A member that follows the log from its peers; with `await_log` it is given once it has root and manifest.

    With `coordinator_first`, as verifiers do, it asks the coordinator for entries before others and stays linked to it. With
    `lan` it finds, and is found by, the run's nodes on the LAN. `relays` says when it keeps places at relays, `serves_relay`
    whether it is one.
    """
    rng = Random(seed or os.urandom(16))
    with locked(home.directory), Store(home.database) as store:
        state = LogState(ticket.run)
        replay_log(state, store)
        async with open_transport(secret, listen) as transport, trio.open_nursery() as nursery:
            reach = RemoteReach(transport, ticket, rng)
            blob_store = BlobStore(home.public)
            blobs = BlobService(transport, blob_store)
            LogService(transport, state, store)
            table = PeerTable(store, secret.public, clock, rng)
            table.learn(ticket.addresses, fixed=True)
            conduct = Conduct(transport, Bans(store), table.is_fixed)
            blobs.report = conduct.report
            reachability = Reachability(transport, relays, events, rng)
            if serves_relay:
                transport.serve_relay()
            links = Links(
                transport,
                table,
                keep=lambda: reachability.relays | transport.relaying()[0],
                wants_fixed=lambda: coordinator_first or not reach.takes_posts,
                announce=announced,
            )
            member = Member(home, transport, state, store, blobs, blob_store, reach, events, clock, rng)

            def entered(index: int, entry: Entry) -> None:
                member.wake()

            follower = LogFollower(
                transport,
                state,
                store,
                reach.peers,
                home.directory,
                coordinators=reach.coordinators,
                coordinator_first=coordinator_first,
                rng=rng,
                on_entry=entered,
                on_cosigned=member.wake,
                report=conduct.report,
            )
            member.follower = follower
            member.links = links
            gossip = open_gossip(member, secret, follower.hint)
            services = member.services
            transport.on_error = services.look_at
            nursery.start_soon(services.watch)
            nursery.start_soon(services.keep, "links", links.run)
            nursery.start_soon(services.keep, "reachability", reachability.run)
            nursery.start_soon(services.keep, "bans", conduct.run)
            nursery.start_soon(services.keep, "gossip", gossip.run)
            nursery.start_soon(services.keep, "following", follower.run)
            nursery.start_soon(services.keep, "mirrors", partial(reach.seek, links.seek))
            if lan:
                from node.peering.libp2p.mdns import Lan

                nursery.start_soon(services.keep, "lan", Lan(transport, ticket.run, table.learn).run)
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
