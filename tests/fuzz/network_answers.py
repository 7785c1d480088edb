"""Readers of what a peer answers: to calls, and in the course of following, fetching, posting and exchanging addresses."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Final

from node.blobs.bitmap import encode_bitmap
from node.blobs.service import BLOB_PROTOCOL, BlobService
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Store
from node.events import silent
from node.following.follower import LogFollower
from node.following.service import LOG_PROTOCOL
from node.member import Member
from node.peering.call import MAX_REFUSAL, CallRefused, call
from node.peering.links import PEERS_PROTOCOL, Links
from node.peering.memory.transport import MemoryTransport
from node.peering.post import POST_PROTOCOL, Post, Posted
from node.peering.reach import RemoteReach
from node.peering.table import MAX_KNOWN, PeerTable
from node.peering.transport import Stream, TransportError, Unreachable, peer_id
from protocol import codec
from protocol.blob import blob_digest, chunk_list
from protocol.entries import parse_entry
from protocol.header import BatchHeader
from protocol.receipt import Receipt
from protocol.ticket import Ticket
from tests.fuzz.network_readers import PLACES
from tests.fuzz.network_world import SHORT, Example
from tests.fuzz.reader import Reader, mutate_reply

CALL: Final = "/gonode/call/1"
ASK_S: Final = 30.0


class Teller:
    """A peer that answers every request honestly but those of the operation `changed`, which get `reply`."""

    def __init__(self, example: Example, transport: MemoryTransport) -> None:
        self.key = transport.key
        self.changed = ""
        self.reply = b""
        self._example = example
        for protocol in (LOG_PROTOCOL, BLOB_PROTOCOL, PEERS_PROTOCOL, POST_PROTOCOL, CALL):
            transport.serve(protocol, self._serve)

    async def _serve(self, stream: Stream) -> None:
        value = codec.decode(await stream.receive(), 1 << 20)
        op = value.get("op", self.changed) if isinstance(value, dict) else self.changed
        await stream.send(self.reply if op == self.changed else self.honest(value))

    def honest(self, request: codec.Value) -> bytes:
        """The honest reply to a request for the log, or for the blob SHORT."""
        world, size = self._example.world, self._example.size
        tree, chunks = world.state.tree, chunk_list(SHORT)
        match request:
            case {"op": "head"}:
                notes = {"checkpoint": self._example.head(size), "cosigned": self._example.head(size - 1, True)}
                return b"\0" + codec.encode({**notes, "size": size})
            case {"op": "entries", "start": int(start), "limit": int(limit), "size": int(whole)}:
                entries = world.entries[start : min(start + limit, whole)]
                proof = tree.consistency_proof(start + len(entries), whole)
                return b"\0" + codec.encode({"entries": entries, "proof": proof})
            case {"op": "prefix", "old": int(old), "new": int(new)}:
                return b"\0" + codec.encode({"proof": tree.consistency_proof(old, new), "root": tree.root(old)})
            case {"op": "list"}:
                return b"\0" + chunks.encode()
            case {"op": "have"}:
                return b"\0" + encode_bitmap([0], 1)
            case {"op": "any"}:
                return b"\0\0\0\0\0" + SHORT
        return b"\0" + SHORT


def answer_readers(example: Example, asker: MemoryTransport, told_by: MemoryTransport, path: Path) -> Iterator[Reader]:
    """The readers of a node at `asker`, which is connected to `told_by`; its files lie in `path`."""
    teller = Teller(example, told_by)
    no = b"\1It is not here."
    size = example.size

    async def called(data: bytes) -> bool:
        teller.changed, teller.reply = "call", data
        try:
            answer = await call(asker, teller.key, CALL, codec.encode({"op": "call"}), max_bytes=1 << 16)
        except CallRefused as refusal:
            return len(str(refusal)) <= MAX_REFUSAL and str(refusal).isprintable()
        assert data == b"\0" + answer
        return True

    yield Reader("call", called, (b"\0answer", no, b"\0"), (TransportError,), mutate_reply)
    follow = _following(example, asker, teller, path)
    for op, request in {
        "head": {"op": "head"},
        "entries": {"op": "entries", "start": 2, "limit": 4096, "size": size},
        "prefix": {"op": "prefix", "old": 3, "new": size},
    }.items():
        yield Reader(f"log-{op}", follow(op), (teller.honest(request), no), (), mutate_reply, every=4)
    fetch = _fetching(asker, teller, path)
    for op in ("list", "have", "any", "chunk"):
        seeds = (teller.honest({"op": op}),)
        yield Reader(f"blob-{op}", fetch(op), seeds, (TransportError,), mutate_reply, every=4)
    addresses = [address.removesuffix(PLACES[0][-60:]) for address in PLACES]
    told = b"\0" + codec.encode({"addresses": [*PLACES, *addresses]})
    yield Reader("peers-answer", _exchanging(asker, teller), (told, no), (), mutate_reply, every=2)
    yield from _posting(example, asker, teller, path)


def _following(
    example: Example, asker: MemoryTransport, teller: Teller, path: Path
) -> Callable[[str], Callable[[bytes], object]]:
    def reader(op: str) -> Callable[[bytes], object]:
        async def take(data: bytes) -> bool:
            teller.changed, teller.reply = op, data
            start = example.size - 3 if op == "prefix" else 2
            with Store(Path(":memory:")) as store:
                store.append(example.world.entries[:start])
                state = example.state(start)
                follower = LogFollower(asker, state, store, lambda: (teller.key,), path)
                await follower.sync_once()
                assert state.tree.root() == example.world.state.tree.root(state.size), "it believed too much"
                assert store.log_size == state.size
            return True

        return take

    return reader


def _fetching(asker: MemoryTransport, teller: Teller, path: Path) -> Callable[[str], Callable[[bytes], object]]:
    store = BlobStore(path / "fetched")
    digest = blob_digest(SHORT)

    def reader(op: str) -> Callable[[bytes], object]:
        async def take(data: bytes) -> bool:
            teller.changed, teller.reply = op, data
            blobs = BlobService(asker, store, rng=Random(1))  # which distrusts nobody yet
            try:
                assert await blobs.fetch(digest, [teller.key], timeout_s=ASK_S) == SHORT
            finally:
                store.delete(digest)
                for suffix in ("list", "part"):
                    store.partial_path(digest, suffix).unlink(missing_ok=True)
                assert not blobs.fetching
            return True

        return take

    return reader


def _exchanging(asker: MemoryTransport, teller: Teller) -> Callable[[bytes], object]:
    async def take(data: bytes) -> bool:
        teller.changed, teller.reply = "", data
        with Store(Path(":memory:")) as store:
            table = PeerTable(store, asker.key, lambda: 1.0, Random(1))
            await Links(asker, table)._exchange(teller.key)
            known = [peer.address for peer in store.peers()]
            assert len(known) <= MAX_KNOWN
            assert all(table.has(address) for address in known)
            table.sample(32, lambda key: True), table.next(lambda key: True), table.stray(lambda key: True)
        return True

    return take


def _posting(example: Example, asker: MemoryTransport, teller: Teller, path: Path) -> Iterator[Reader]:
    world, state = example.world, example.state()
    header = next(
        post for post in map(Post.parse, example.posts) if isinstance(parse_entry(post.envelope).record, BatchHeader)
    )
    subject = parse_entry(header.envelope).envelope.digest
    receipt = Receipt(world.run, subject, 3, state.size, state.tree.inclusion_proof(3, state.size))
    posted = Posted(3, receipt.seal(world.coordinator).encode())
    home = Home(path / "poster")
    blob_store = BlobStore(home.public)

    def member_at(first: bytes) -> Member:
        ticket = Ticket(world.run, bytes(32), (f"/memory/1/p2p/{peer_id(first)}",))
        blobs = BlobService(asker, blob_store)
        reach = RemoteReach(asker, ticket, Random(1))
        return Member(home, asker, state, None, blobs, blob_store, reach, silent, lambda: 0.0, Random(1))  # type: ignore[arg-type]  # it writes nothing

    to_coordinator, to_verifier = member_at(teller.key), member_at(asker.key)

    def reader(member: Member) -> Callable[[bytes], object]:
        async def take(data: bytes) -> bool:
            teller.changed, teller.reply = "", data
            reach = member.reach
            assert isinstance(reach, RemoteReach)
            reach.backoff.worked()
            reach._not_before.clear()
            try:
                assert await member.post(header) == posted
            except Unreachable as error:
                if "is connected" in str(error) or "not connected" in str(error):
                    raise AssertionError("the peer was not asked") from error
                raise
            return True

        return take

    errors = (CallRefused, TransportError)
    taken = (b"\0" + posted.encode(),)
    yield Reader("post-answer", reader(to_coordinator), taken, errors, mutate_reply)
    yield Reader("mirror-answer", reader(to_verifier), taken, errors, mutate_reply)
