"""The vectors of `docs/spec/wire.md`: services answer, and clients believe, as they say; a rerun changes none."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from node.blobs.have_lists import HaveLists
from node.blobs.service import BLOB_PROTOCOL, BlobService
from node.disk.blob_store import BlobStore
from node.disk.store import Head, Store
from node.following.follower import LogFollower
from node.following.service import LOG_PROTOCOL, LogService
from node.peering.call import CallRefused, call, serve_calls
from node.peering.gossip import Gossip
from node.peering.libp2p.kad.message import MalformedMessage
from node.peering.libp2p.kad.message import parse as parse_directory
from node.peering.libp2p.stream import Libp2pStream
from node.peering.links import PEERS_PROTOCOL, Links
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from node.peering.post import Cosigning, Post, Posted
from node.peering.table import PeerTable
from node.peering.transport import PeerGone, TooMuch, Unreachable, peer_id, peer_key
from protocol import codec
from protocol.blob import blob_digest
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.entries import Entry, parse_entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.merkle import Tree, leaf_hash, verify_inclusion
from protocol.receipt import Receipt
from protocol.record import Record
from protocol.root import Root
from tests.node.keys import secret
from tests.vectors import wire_generate
from tests.vectors.record_examples import CONTRIBUTOR, COORDINATOR, STRANGER
from tests.vectors.scenario import unhex
from verification.root_versions import RootVersions

SERVED = json.loads((wire_generate.FOLDER / "served.json").read_text(encoding="utf-8"))
ENTRIES = [unhex(each) for each in SERVED["entries"]]
BLOBS = [unhex(each) for each in SERVED["blobs"]]
RUN = unhex(SERVED["run"])


def cases(name: str) -> list[Any]:
    """A file's cases, each a parameter under its description."""
    read = json.loads((wire_generate.FOLDER / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["description"]) for case in read]


def test_a_rerun_changes_nothing() -> None:
    made = dict(wire_generate.files())
    assert {path.name for path in wire_generate.FOLDER.iterdir()} == made.keys()
    for name, text in made.items():
        assert (wire_generate.FOLDER / name).read_text(encoding="utf-8") == text
    page = wire_generate.PAGE.read_text(encoding="utf-8")
    assert page.count("<!-- exchange ") >= 5
    assert wire_generate.with_exchanges(page) == page


class Rules:
    """A replica that takes every entry."""

    def __init__(self) -> None:
        self.run = RUN
        self.tree = Tree()

    @property
    def size(self) -> int:
        return self.tree.size

    @property
    def roots(self) -> RootVersions:
        return RootVersions(((0, Root.parse(parse_entry(ENTRIES[0]).envelope.payload)),))

    def apply(self, entry: bytes, *, is_verified: bool = False) -> Entry:
        self.tree.append(entry)
        return parse_entry(entry)


class Peer:
    """The peer of served.json."""

    def __init__(self, transport: MemoryTransport, path: Path) -> None:
        self.transport = transport
        self.store = Store(path / "served.db")
        replica = Rules()
        for entry in ENTRIES:
            replica.apply(entry)
        self.store.append(ENTRIES)
        for note in map(unhex, SERVED["heads"]):
            head = Checkpoint.parse(SignedNote.parse(note).text)
            self.store.put_head(Head(head.size, head.root_hash, note))
        blob_store = BlobStore(path / "served")
        for blob in BLOBS:
            blob_store.put(blob)
        LogService(transport, replica, self.store)
        BlobService(transport, blob_store)
        Links(transport, PeerTable(self.store, transport.key, lambda: 1.0, Random(1)))


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[tuple[Peer, MemoryTransport]]:
    """The peer, and the transport of the vectors' asker."""
    network = MemoryNetwork()
    async with network.open(secret(1)) as far, network.open(CONTRIBUTOR) as near:
        peer = Peer(far, path)
        await near.dial(far.addresses()[0])
        with peer.store:
            yield peer, near


PROTOCOLS = {"log": LOG_PROTOCOL, "blob": BLOB_PROTOCOL, "peers": PEERS_PROTOCOL}


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, *each.values, id=each.id) for name in PROTOCOLS for each in cases(f"{name}-requests")],
)
async def test_requests_are_answered(
    name: str, case: Any, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    data = unhex(case["input"]["request"])
    async with served(tmp_path) as (peer, near):
        assert near.key.hex() == SERVED["asker"]
        stream = await near.open(peer.transport.key, PROTOCOLS[name])
        await stream.send(data)
        if case["expect"] == "reset":
            with pytest.raises(PeerGone):
                await stream.receive()
            return
        reply = await stream.receive()
        await stream.close()
    if case["expect"] == "ok":
        assert reply == b"\0" + unhex(case["output"]["answer"])
    else:
        assert case["expect"] == "refused"
        assert reply == b"\1" + case["output"]["refusal"].encode()


def _op(request: str) -> codec.Value:
    value = codec.decode(unhex(request))
    assert isinstance(value, dict)
    return value["op"]


def canned(name: str, changed: Mapping[str, Any]) -> Any:
    """A handler that answers what the vectors say, but for one request; it knows no request besides."""
    known = {
        unhex(case["input"]["request"]): unhex(case["output"]["answer"])
        for case in (param.values[0] for param in cases(f"{name}-requests"))
        if case["expect"] == "ok"
    }
    assert unhex(changed["request"]) in known
    known[unhex(changed["request"])] = unhex(changed["answer"])
    if name == "blob" and _op(changed["request"]) == "chunk":  # who may choose is not asked for one by its index
        known = {request: answer for request, answer in known.items() if _op(request.hex()) != "any"}

    async def answer(peer: bytes, request: bytes) -> bytes:
        if request not in known:
            raise CallRefused(f"No vector has the request {request.hex()}.")
        return known[request]

    return answer


@pytest.mark.parametrize("case", cases("log-answers"))
async def test_a_follower_believes_no_more(case: Any, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)) as far, network.open(secret(2)) as near:
        await near.dial(far.addresses()[0])
        serve_calls(far, LOG_PROTOCOL, canned("log", case["input"]))
        replica = Rules()
        with Store(tmp_path / "node.db") as store:
            follower = LogFollower(near, replica, store, lambda: (far.key,), tmp_path)
            await follower.sync_once()
            assert replica.size == case["output"]["entries"]
            assert (case["expect"] == "ok") == (replica.size == len(ENTRIES))
            if case["expect"] == "ok":
                answer = codec.decode(unhex(case["input"]["answer"]))
                is_shown = not isinstance(answer, dict) or answer.get("cosigned") != b""
                cosigned = await follower.cosigned()
                assert (cosigned is not None) == is_shown
                assert follower.cosigned_size == (wire_generate.COSIGNED if is_shown else 0)


@pytest.mark.parametrize("case", [*cases("blob-answers"), *cases("swarm-answers")])
async def test_a_fetcher_believes_no_more(case: Any, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    network = MemoryNetwork()
    async with network.open(secret(1)) as far, network.open(secret(2)) as near:
        await near.dial(far.addresses()[0])
        serve_calls(far, BLOB_PROTOCOL, canned("blob", case["input"]))
        service = BlobService(near, BlobStore(tmp_path / "public"))
        asked = codec.decode(unhex(case["input"]["request"]))
        assert isinstance(asked, dict)
        blob = next(each for each in BLOBS if blob_digest(each) == asked["digest"])
        if case["expect"] == "ok":
            assert await service.fetch(blob_digest(blob), [far.key]) == blob
            assert service.liars == set()
        else:
            with pytest.raises(Unreachable):
                await service.fetch(blob_digest(blob), [far.key])
            assert service.liars == {far.key}


MESSAGES: dict[str, type[Record]] = {"post": Post, "posted": Posted, "cosigning": Cosigning}


@pytest.mark.parametrize("case", cases("posts"))
def test_posts(case: Any) -> None:
    message, data = MESSAGES[case["input"]["message"]], unhex(case["input"]["data"])
    if case["expect"] == "ok":
        made = message.parse(data)
        assert made.encode() == data
        assert wire_generate.plain(made.to_value()) == case["output"]
    else:
        with pytest.raises(ProtocolError) as refusal:
            message.parse(data)
        assert refusal.value.label == case["expect"]


def test_a_post_and_its_answer() -> None:
    (param,) = cases("post-requests")
    (case,) = param.values
    post = Post.parse(unhex(case["input"]["request"]))
    posted = Posted.parse(unhex(case["output"]["answer"]))
    receipt = Receipt.open(Envelope.parse(posted.receipt), COORDINATOR.public)
    assert (receipt.run, receipt.index) == (RUN, posted.index)
    assert receipt.subject == parse_entry(post.envelope).envelope.digest
    root = Tree(ENTRIES[: receipt.size]).root()
    verify_inclusion(leaf_hash(post.envelope), receipt.index, receipt.size, receipt.path, root)


async def _ignore(source: bytes, data: bytes) -> None:
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("case", cases("gossip"))
async def test_gossip(case: Any, autojump_clock: trio.testing.MockClock) -> None:
    publisher = {key.public: key for key in (CONTRIBUTOR, STRANGER)}[unhex(case["input"]["publisher"])]
    data = unhex(case["input"]["data"])
    heads: list[bytes] = []
    network = MemoryNetwork()
    async with network.open(publisher) as far, network.open(secret(1)) as between, network.open(secret(2)) as near:
        for transport in (far, near):
            await transport.dial(between.addresses()[0])
        between.subscribe(case["input"]["topic"], _ignore)
        Gossip(near, RUN, on_head=heads.append)
        lists = HaveLists(
            near, secret(2), RUN, knows=lambda key: key == CONTRIBUTOR.public, next_number=lambda: 1, rng=Random(1)
        )
        await far.publish(case["input"]["topic"], data)
        await trio.sleep(1)
        holds = [blob for blob in BLOBS if lists.holders(blob_digest(blob)) == (publisher.public,)]
    if case["expect"] == "ignored":
        assert heads == holds == []
    else:
        assert case["expect"] == "ok"
        assert heads == [data] or holds == BLOBS


class Pipe:
    """As much of a libp2p stream as a reader needs, with these bytes in it."""

    def __init__(self, *data: bytes) -> None:
        self.data = b"".join(data)
        self.is_reset = False
        self.muxed_conn = None

    async def read(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    async def write(self, data: bytes) -> None:
        self.data += data

    async def reset(self) -> None:
        self.is_reset = True


@pytest.mark.parametrize("case", cases("frames"))
async def test_frames(case: Any, autojump_clock: trio.testing.MockClock) -> None:
    pipe = Pipe(unhex(case["input"]["length"]), unhex(case["input"]["rest"]))
    stream = Libp2pStream(pipe, secret(1).public)
    match case["expect"]:
        case "ok":
            frame = unhex(case["output"]["frame"])
            assert await stream.receive() == frame
            await stream.send(frame)
            assert pipe.data == unhex(case["input"]["length"]) + frame
        case "reset":
            with pytest.raises(TooMuch):
                await stream.receive()
            assert pipe.is_reset
        case _:
            with pytest.raises(PeerGone):
                await stream.receive()


@pytest.mark.parametrize("case", cases("directory"))
def test_directory(case: Any) -> None:
    message, teller = unhex(case["input"]["message"]), case["input"]["teller"]
    if case["expect"] == "ok":
        read = parse_directory(message, teller)
        told = [
            [{"key": each.key.hex(), "addresses": list(each.addresses)} for each in peers]
            for peers in (read.closer, read.providers)
        ]
        assert {"kind": read.kind, "target": read.target.hex(), "closer": told[0], "providers": told[1]} == case[
            "output"
        ]
        assert parse_directory(read.encode(), teller) == read
    else:
        with pytest.raises(MalformedMessage):
            parse_directory(message, teller)


@pytest.mark.parametrize("case", cases("ids"))
def test_ids(case: Any) -> None:
    if case["expect"] == "ok":
        assert peer_key(case["input"]["id"]).hex() == case["output"]["key"]
        assert peer_id(unhex(case["output"]["key"])) == case["input"]["id"]
    else:
        with pytest.raises(Unreachable):
            peer_key(case["input"]["id"])


async def test_a_refusal_reaches_the_caller(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with served(tmp_path) as (peer, near):
        with pytest.raises(CallRefused, match="not a request"):
            await call(near, peer.transport.key, LOG_PROTOCOL, codec.encode({"op": "tail"}))
