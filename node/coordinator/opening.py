"""Opens a coordinator: founds the log on the first start, then serves it.

The coordinator's own copy of the log is the log. It listens where its ticket says; should that port be taken, it says so and
ends, for a ticket that leads nowhere is worse than a coordinator that does not start.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import trio

from node.blobs.options import UNLIMITED, BlobOptions
from node.coordinator.coordinator import Coordinator
from node.coordinator.growth import Growth
from node.coordinator.log_writer import LogWriter
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.keyring import load_key
from node.disk.lockfile import locked
from node.disk.store import Store, StoreError
from node.engine.engine import Engine
from node.events import Events
from node.following.service import LogService
from node.following.stored_log import replay_log
from node.founding.founding import load_founding
from node.founding.listening import ListenError
from node.founding.root_signing import waiting_manifests, waiting_roots
from node.founding.succession import present_key
from node.launch import OpenTransport, keep_services, lan_service, open_blobs, open_sharing
from node.member import Member
from node.peering.backoff import Backoff
from node.peering.bans import Bans
from node.peering.conduct import Conduct
from node.peering.gossip import Gossip
from node.peering.links import Links
from node.peering.post import Post, Posted
from node.peering.reach import Verify
from node.peering.table import PeerTable
from node.peering.transport import MAX_CONNECTIONS, Transport, Unreachable
from node.training.trainer_process import Train, train
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.layout import CHECKPOINT
from protocol.seeds import log_origin
from protocol.ticket import Ticket
from verification.state import LogState


class OwnReach:
    """The coordinator's ways: it hands entries to itself."""

    def __init__(self, transport: Transport, rng: Random) -> None:
        self._transport = transport
        self.backoff = Backoff(lambda: True, rng)
        self.coordinator: Coordinator | None = None

    def coordinators(self) -> tuple[bytes, ...]:
        """Itself."""
        return (self._transport.key,)

    def peers(self) -> tuple[bytes, ...]:
        """Connected peers."""
        return self._transport.peers()

    def mirrors(self) -> tuple[bytes, ...]:
        """None: a coordinator needs nobody to keep its posts."""
        return ()

    async def post(self, post: Post, verify: Verify) -> Posted:
        """Logs an entry of its own player."""
        with self.backoff.attempt():
            if self.coordinator is None:
                raise Unreachable("The coordinator is starting.")
            return await self.coordinator.intake.post(post)

    async def offer(self, post: Post, verify: Verify) -> Posted:
        """There is nobody to offer to."""
        raise Unreachable("The coordinator offers nothing to others.")

    async def call(self, protocol: str, request: bytes) -> bytes:
        """There is nobody else to call."""
        raise Unreachable("The coordinator does not call itself.")


@asynccontextmanager
async def open_coordinator(
    home: Home,
    engine: Engine,
    events: Events,
    clock: Callable[[], float],
    open_transport: OpenTransport | None = None,
    listen: Sequence[str] = (),
    rng: Random | None = None,
    train: Train = train,
    announced: Sequence[str] = (),
    blob_options: BlobOptions = UNLIMITED,
    lan: bool = False,
    grow: str | None = None,
    train_device: str = "cpu",
) -> AsyncIterator[Coordinator]:
    """A coordinator of the run founded in `home`, over libp2p unless another transport is given.

    `train` is the trainer's process unless a simulation brings its own, `train_device` what it trains on. With `lan` the
    run's nodes on the LAN find it. `grow`: the shape that the next cycle is to begin; raises GrowthRefused or EngineError.
    """
    ticket = home.load_ticket()
    if open_transport is None:
        from node.peering.libp2p.opening import open_libp2p

        open_transport = partial(open_libp2p, run=ticket.run, announced=announced)
    founding = load_founding(home)
    host = load_key(home.key("host"))
    with locked(home.directory), Store(home.database) as store:
        state = LogState(ticket.run)
        replay_log(state, store)
        require_newest(home, state)
        for envelope in founding[state.size :]:
            _enter(envelope, state, store)
        for waiting in (waiting_roots, waiting_manifests):
            for envelope in waiting(home, state, partial(events, "unsigned")):
                _enter(envelope, state, store)
        secret = present_key(home, state.root, state.size)
        growth = Growth(state, store)
        if grow is not None:
            growth.ask(grow)
        log = LogWriter(state, store, secret, home.public, trio.current_time)
        async with (
            _swept(log),
            open_transport(host, listen or [_listen(ticket)]) as transport,
            trio.open_nursery() as nursery,
        ):
            rng = rng or Random()
            blob_store = BlobStore(home.public, clock)
            blobs = open_blobs(transport, blob_store, blob_options, rng)
            LogService(transport, state, store)
            reach = OwnReach(transport, rng)
            member = Member(home, transport, state, store, blobs, blob_store, reach, events, clock, rng)
            table = PeerTable(store, host.public, clock, member.rng)
            conduct = Conduct(transport, Bans(store), table.is_fixed)
            blobs.report = conduct.report
            transport.serve_relay()
            links = Links(
                transport,
                table,
                wanted=0,
                announce=announced,
                capacity=MAX_CONNECTIONS,
                keep=lambda: transport.relaying()[0],
            )
            member.links = links
            member.conduct = conduct
            gossip = Gossip(transport, state.run, on_head=lambda note: None, is_head=log.is_head)
            sharing = open_sharing(member, host, table)
            runs = {"links": links.run, "bans": conduct.run, "gossip": gossip.run, "sharing": sharing.run}
            keep_services(nursery, member, runs | lan_service(member, table, lan))
            coordinator = Coordinator(member, secret, log, engine, gossip.announce_head, train, train_device)
            reach.coordinator = coordinator
            addresses = transport.addresses()
            events("listening", f"Listening at {', '.join(addresses)}.", address=addresses[0] if addresses else "")
            if growth.wish is not None:
                when = "The next cycle" if state.trainings else "The cycle after the first"
                events("growing", f"{when} begins a network {growth.wish} in the place of {state.cycles.shape}.")
            try:
                yield coordinator
            finally:
                nursery.cancel_scope.cancel()


@asynccontextmanager
async def _swept(log: LogWriter) -> AsyncIterator[None]:
    """At its end, when no peer can post any more, the public folder is rid of blobs that nothing names."""
    try:
        yield
    finally:
        log.publisher.sweep()


def _enter(envelope: Envelope, state: LogState, store: Store) -> None:
    data = envelope.encode()
    state.apply(data, keep=lambda: store.append([data]))


def require_newest(home: Home, state: LogState) -> None:
    """Raises StoreError when the published head of this run is not one of the log in the store.

    So an older copy of the store, brought back, is told before the next head would fork the log for good. Who signed the
    head does not matter: an older copy may know neither the key nor the root version that names it.
    """
    try:
        shown = Checkpoint.parse(SignedNote.parse((home.public / CHECKPOINT).read_bytes()).text)
    except (FileNotFoundError, ProtocolError):
        return  # none is published yet, or it is damaged
    if shown.origin != log_origin(state.run):
        return  # it is another run's
    if shown.size > state.size or state.tree.root(shown.size) != shown.root_hash:
        raise StoreError(
            f"The log in node.db has {state.size} entries and is not the one whose head of size {shown.size} is published: "
            "it seems to be an older copy, and going on from it would fork the log. Bring the newest copy back."
        )


def _listen(ticket: Ticket) -> str:
    if not ticket.addresses:
        raise ListenError("The ticket names no address; say where to listen: --listen /ip4/ADDRESS/tcp/PORT.")
    return ticket.addresses[0].rpartition("/p2p/")[0]
