"""Opens a member of a run: lock, store, log, transport, links, gossip and follower, in that order, and closes them again.

Everything that runs beside a role is a service in one nursery here (`node.services`): one that fails is started again, and
an error that `node.fatal` names ends the node with its sentence.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from random import Random

import trio

from node.blobs.options import UNLIMITED, BlobOptions
from node.blobs.retention import Retention, needed_blobs
from node.blobs.service import BlobService
from node.blobs.sharing import Sharing
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.lockfile import locked
from node.disk.store import Store
from node.events import Events
from node.following.follower import LogFollower
from node.following.service import LogService
from node.following.stored_log import replay_log
from node.founding.ceremony import waiting_root
from node.member import Member
from node.peering.bans import Bans
from node.peering.conduct import Conduct
from node.peering.gossip import Gossip
from node.peering.links import Links
from node.peering.reach import RemoteReach
from node.peering.reachability import Reachability, UseRelays
from node.peering.table import PeerTable
from node.peering.transport import MAX_CONNECTIONS, Transport
from node.services import Run
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
    blob_options: BlobOptions = UNLIMITED,
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
            blob_store = BlobStore(home.public, clock)
            blobs = open_blobs(transport, blob_store, blob_options, rng)
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
                keep=lambda: transport.relays() | transport.relaying()[0],
                wants_fixed=lambda: coordinator_first or not reach.takes_posts,
                prefer=lambda: {*reach.preferred(), *sharing.holders(blobs.fetching)},
                announce=announced,
                capacity=MAX_CONNECTIONS,
            )
            member = Member(home, transport, state, store, blobs, blob_store, reach, events, clock, rng)
            member.links, member.conduct = links, conduct

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
                on_newest=member.wake,
                report=conduct.report,
            )
            member.follower = follower
            known_root = waiting_root(home)
            if known_root is not None and state.size >= 2:
                follower.learn_root(known_root.encode())
            gossip = Gossip(
                transport, ticket.run, on_head=follower.hint, is_head=follower.is_head, is_known=table.is_fixed
            )
            sharing = open_sharing(member, secret, table)
            runs: dict[str, Run] = {
                "links": links.run,
                "reachability": reachability.run,
                "bans": conduct.run,
                "gossip": gossip.run,
                "sharing": sharing.run,
                "following": follower.run,
                "mirrors": partial(reach.seek, links.seek),
            }
            if blob_options.keep_bytes is not None:
                runs["retention"] = Retention(
                    blob_store,
                    lambda: needed_blobs(state, store, member.keeps),
                    blob_options.keep_bytes,
                    lambda: blobs.fetching,
                    clock,
                    blob_options.work,
                ).run
            keep_services(nursery, member, runs | lan_service(member, table, lan))
            addresses = transport.addresses()
            places = f"at {', '.join(addresses)}" if addresses else "nowhere"
            events("listening", f"Listening {places}.", address=addresses[0] if addresses else "")
            if state.size < 2:
                events(
                    "connecting",
                    f"Looking for the run {ticket.run.hex()[:16]} at "
                    f"{counted(len(ticket.addresses), 'address', 'addresses')}, again and again until a peer answers.",
                )
            if await_log:
                await member.until_size(2)
            yield member
            nursery.cancel_scope.cancel()


def keep_services(nursery: trio.Nursery, member: Member, runs: Mapping[str, Run]) -> None:
    """Has services run beside a role in `nursery`, by their names; what is fatal, wherever it is met, ends the node."""
    services = member.services
    member.transport.on_error = services.look_at
    nursery.start_soon(services.watch)
    for name, run in runs.items():
        nursery.start_soon(services.keep, name, run)


def lan_service(member: Member, table: PeerTable, is_wanted: bool) -> dict[str, Run]:
    """The service that finds the run's nodes on the LAN, and is found by them, where it is wanted."""
    if not is_wanted:
        return {}
    from node.peering.libp2p.lan.mdns import Lan

    return {"lan": Lan(member.transport, member.state.run, table.learn).run}


def open_blobs(transport: Transport, store: BlobStore, options: BlobOptions, rng: Random) -> BlobService:
    """The node's exchange of blobs."""
    return BlobService(transport, store, up=options.up, down=options.down, rng=rng, work=options.work)


def next_number(store: Store, name: str, clock: Callable[[], float]) -> int:
    """A number over all that this node gave for `name`, however the wall clock was set; from it, should the disk be new."""
    used = int.from_bytes(store.get(f"number/{name}") or b"", "big")
    number = max(used + 1, int(clock() * 1000))
    store.put(f"number/{name}", number.to_bytes(8, "big"))
    return number


def open_sharing(member: Member, secret: SecretKey, table: PeerTable) -> Sharing:
    """Has the node's networks found, and finds others'; have-lists count from contributors and the ticket's peers."""

    def knows(key: bytes) -> bool:
        return member.state.size >= 2 and (
            member.state.registry.find(key) is not None or key in member.reach.coordinators()
        )

    sharing = Sharing(
        member.transport,
        secret,
        member.state.run,
        knows=knows,
        addresses_of=table.addresses_of,
        next_number=partial(next_number, member.store, "have-list", member.clock),
        rng=member.rng,
    )
    member.networks.sharing = sharing
    member.blobs.seek = sharing.seek
    return sharing
