"""Readers of requests and publications: what every service of a node makes of them, and of gossip."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Final

import trio

from node.blobs.have_lists import HaveList, HaveLists
from node.blobs.service import BlobService
from node.coordinator.intake import Intake
from node.coordinator.log_writer import LogWriter
from node.coordinator.opening import OwnReach
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Store
from node.events import silent
from node.following.follower import LogFollower
from node.following.heads import Heads, LogUnbelievable
from node.following.service import LogService
from node.member import Member
from node.peering.call import CallRefused
from node.peering.gossip import Gossip
from node.peering.links import Links
from node.peering.memory.transport import MemoryTransport
from node.peering.post import Posted
from node.peering.reach import RemoteReach
from node.peering.table import MAX_OWN, PeerTable
from node.peering.transport import MAX_FRAME, TransportError, peer_id
from node.verifier.post_keeper import PostKeeper
from protocol import codec
from protocol.blob import blob_digest
from protocol.checkpoint import Checkpoint
from protocol.errors import ProtocolError
from protocol.seeds import log_origin
from protocol.ticket import Ticket
from tests.fuzz.mutation import mutate
from tests.fuzz.network_readers import KEY, PLACES
from tests.fuzz.network_world import SHORT, Example
from tests.fuzz.reader import Change, Reader, mutate_fields, mutate_signed
from tests.vectors.record_examples import CONTRIBUTOR
from verification.state import LogState

REFUSALS: Final = (CallRefused, ProtocolError)
Take = Callable[[bytes], Awaitable[bool]]


class Desk:
    """A node of the run with its log, posts and blobs; `renew` gives it the example's log again."""

    def __init__(self, example: Example, transport: MemoryTransport, path: Path) -> None:
        self.example = example
        self.transport = transport
        self.home = Home(path)
        self.blob_store = BlobStore(self.home.public)
        for blob in example.world.blobs.values():
            self.blob_store.put(blob)
        self.blobs = BlobService(transport, self.blob_store, rng=Random(1))
        self.store: Store | None = None
        self.renew()

    def renew(self) -> None:
        """Begins with a new store and state."""
        if self.store is not None:
            self.store.close()
        self.store = self.example.store()
        self.state: LogState = self.example.state()

    def member(self, is_coordinator: bool) -> Member:
        """The node's member; a verifier's coordinator is away."""
        transport, clock = self.transport, trio.current_time
        assert self.store is not None
        ticket = Ticket(self.example.world.run, bytes(32), (f"/memory/1/p2p/{peer_id(KEY)}",))
        reach = OwnReach(transport, Random(1)) if is_coordinator else RemoteReach(transport, ticket, Random(1))
        return Member(
            self.home,
            transport,
            self.state,
            self.store,
            self.blobs,
            self.blob_store,
            reach,
            silent,
            clock,
            Random(1),
        )


def service_readers(
    example: Example, coordinator: MemoryTransport, verifier: MemoryTransport, path: Path
) -> Iterator[Reader]:
    """The readers of a coordinator and of a verifier, whose files lie below `path`."""
    desk = Desk(example, coordinator, path / "coordinator")
    assert desk.store is not None
    log = LogService(coordinator, desk.state, desk.store)
    size, digest = example.size, blob_digest(SHORT)
    asked: tuple[codec.Value, ...] = (
        {"op": "head"},
        {"op": "entries", "start": 2, "limit": 100, "size": size},
        {"op": "prefix", "old": 3, "new": size},
        {"op": "roots", "version": 0},
    )
    yield Reader("log-request", _log(log), tuple(map(codec.encode, asked)), REFUSALS, mutate_fields)
    asked = (
        {"digest": digest, "op": "list"},
        {"digest": digest, "known": 0, "op": "have"},
        {"digest": digest, "index": 0, "op": "chunk"},
        {"digest": digest, "op": "any", "wants": b"\x01"},
    )
    yield Reader("blob-request", _blob(desk), tuple(map(codec.encode, asked)), REFUSALS, mutate_fields)
    told = tuple(codec.encode({"addresses": list(places)}) for places in (PLACES, ()))
    yield Reader("peers-request", _peers(coordinator), told, REFUSALS, mutate_fields, every=2)
    signed = mutate_signed(example.secrets)
    intake = Desk(example, coordinator, path / "intake")
    errors = (*REFUSALS, TransportError)
    yield Reader("post-request", _post(intake, is_coordinator=True), example.posts, errors, signed, every=2)
    yield Reader("cosign-request", _cosign(intake), (example.cosigning,), REFUSALS, signed, every=2)
    mirror = Desk(example, verifier, path / "mirror")
    kept = tuple(post for post in example.posts if b"batch-header" in post)
    yield Reader("mirror-request", _post(mirror, is_coordinator=False), kept, REFUSALS, signed, every=2)
    heads = tuple(example.head(at, cosigned) for at in (size, size - 1) for cosigned in (False, True))
    yield Reader("head", _head(desk, path), heads, (ProtocolError, LogUnbelievable), _signed_head(example), every=2)
    yield Reader("gossip", _gossip(desk, path), heads)
    have = HaveList(example.world.run, 7, (digest, bytes(32))).seal(CONTRIBUTOR).encode()
    yield Reader("have", _have(coordinator, example), (have,), change=mutate_signed([CONTRIBUTOR]))


def _log(service: LogService) -> Take:
    async def take(data: bytes) -> bool:
        answer = await service._answer(KEY, data)
        assert len(answer) < MAX_FRAME
        codec.decode(answer, MAX_FRAME)
        return True

    return take


def _blob(desk: Desk) -> Take:
    async def take(data: bytes) -> bool:
        service = BlobService(desk.transport, desk.blob_store, rng=Random(1))  # which gave nothing to anybody yet
        async with AsyncExitStack() as held:
            answer = await service._answer(KEY, data, held)
            assert len(answer) < MAX_FRAME
        return True

    return take


def _peers(transport: MemoryTransport) -> Take:
    async def take(data: bytes) -> bool:
        with Store(Path(":memory:")) as store:
            table = PeerTable(store, transport.key, lambda: 1.0, Random(1))
            answer = await Links(transport, table)._answer(KEY, data)
            codec.decode(answer, 1 << 14)
            known = store.peers()
            assert len(known) <= MAX_OWN
            assert {peer.key for peer in known} <= {KEY}, "somebody told of others"
        return True

    return take


def _post(desk: Desk, is_coordinator: bool) -> Take:
    async def take(data: bytes) -> bool:
        member = desk.member(is_coordinator)
        if is_coordinator:
            answer = await _intake(desk, member).call(KEY, data)
        else:
            answer = await PostKeeper(member, None).call(KEY, data)  # type: ignore[arg-type]  # the run takes no stamps
        assert Posted.parse(answer).held != is_coordinator
        desk.renew()
        return True

    return take


def _cosign(desk: Desk) -> Take:
    async def take(data: bytes) -> bool:
        assert await _intake(desk, desk.member(is_coordinator=True)).cosigning(KEY, data) == b""
        desk.renew()
        return True

    return take


def _intake(desk: Desk, member: Member) -> Intake:
    assert desk.store is not None
    world = desk.example.world
    log = LogWriter(desk.state, desk.store, world.coordinator, desk.home.public, trio.current_time)
    return Intake(member, world.coordinator, log, None)  # type: ignore[arg-type]  # no post has a proof to repeat


def _signed_head(example: Example) -> Change:
    """Changes bytes of a note, or has the coordinator sign another head."""

    def change(rng: Random, data: bytes, other: bytes) -> bytes:
        if rng.random() < 0.5:
            return mutate(rng, data, other)
        near = (0, 1, 2, example.size - 1, example.size, example.size + 1)
        size = rng.choice((*near, 2**31, 2**32, 2**63 - 1))
        root = example.world.state.tree.root(size) if size <= example.size and rng.random() < 0.5 else rng.randbytes(32)
        head = Checkpoint(log_origin(example.world.run), size, root)
        return head.sign(example.world.coordinator).encode()

    return change


def _head(desk: Desk, path: Path) -> Take:
    async def take(data: bytes) -> bool:
        with desk.example.store() as store:
            heads = Heads(desk.example.state(), store, path)
            heads.is_news(data)
            head = heads.verified(data)
            heads.keep(head)
            if head.size <= desk.state.size:
                heads.settle(head)
            assert heads.newest is not None
            assert heads.cosigned is not None
        return True

    return take


def _gossip(desk: Desk, path: Path) -> Take:
    assert desk.store is not None
    follower = LogFollower(desk.transport, desk.state, desk.store, lambda: (), path)
    gossip = Gossip(desk.transport, desk.example.world.run, on_head=follower.hint)

    async def take(data: bytes) -> bool:
        follower.hint(data)
        if not gossip._accepts(KEY, data):
            return False
        await gossip._hear(KEY, data)
        return True

    return take


def _have(transport: MemoryTransport, example: Example) -> Take:
    lists = HaveLists(
        transport, CONTRIBUTOR, example.world.run, knows=lambda key: True, next_number=lambda: 1, rng=Random(1)
    )

    async def take(data: bytes) -> bool:
        if not lists._accepts(KEY, data):
            return False
        await lists._hear(KEY, data)
        return True

    return take
