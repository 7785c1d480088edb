"""A verifier as a mirror: what it takes, what it keeps, in which order it passes on, and what it withstands."""

import dataclasses
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from node.blobs.fetch import BLOB_PROTOCOL
from node.blobs.service import BlobService
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Store
from node.member import Member
from node.peering.call import CallRefused, call, serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.post import HELD, POST_PROTOCOL, Post, Posted
from node.peering.reach import RemoteReach
from node.peering.transport import Misdeed, PeerGone, Unreachable, peer_id
from node.verifier.post_keeper import AT_ONCE_OF_AUTHOR, PostKeeper
from node.verifier.shelf import PREFIX, Quota
from protocol.blob import blob_digest
from protocol.envelope import Envelope
from protocol.header import BatchHeader
from protocol.receipt import Receipt
from protocol.registration import Registration
from protocol.stamp import find_stamp, is_stamp
from protocol.ticket import Ticket
from tests.node.keys import secret
from tests.sim.inline_engine import InlineEngine
from tests.verification.manifests import small_manifest
from tests.verification.world import World
from verification.faults import LogFault

HOST, POSTER, COORDINATOR = secret(1), secret(2), secret(0)


@cache
def example() -> tuple[World, BatchHeader]:
    """A run with two contributors, and the first one's next batch; look only."""
    world = World()
    ada = world.register("ada")
    world.register("bob")
    return world, world.header(ada, world.games(ada, 2))


def world_again() -> World:
    """The same run, to be changed."""
    world = World()
    for name in ("ada", "bob"):
        world.register(name)
    return world


class Desk:
    """A mirror, a poster with blobs, and a coordinator that comes and goes."""

    def __init__(self, path: Path, network: MemoryNetwork, world: World) -> None:
        self.path = path
        self.network = network
        self.world = world
        self.said: list[tuple[str, str]] = []
        self.posted: list[bytes] = []
        self.troubles: list[Exception] = []
        self.quota = Quota()

    def say(self, event: str, text: str, **values: Any) -> None:
        self.said.append((event, text))

    @asynccontextmanager
    async def mirror(self) -> AsyncIterator[PostKeeper]:
        """The verifier's node, from what its disk holds."""
        address = f"/memory/1/p2p/{peer_id(COORDINATOR.public)}"
        ticket = Ticket(self.world.run, bytes(32), (address,))
        home = Home(self.path / "mirror")
        with Store(home.database) as store:
            async with self.network.open(HOST) as transport, trio.open_nursery() as nursery:
                blob_store = BlobStore(home.public)
                blobs = BlobService(transport, blob_store)
                reach = RemoteReach(transport, ticket, Random(1))
                self.member = Member(
                    home,
                    transport,
                    self.world.state,
                    store,
                    blobs,
                    blob_store,
                    reach,
                    self.say,
                    trio.current_time,
                    Random(1),
                )
                mirror = PostKeeper(self.member, InlineEngine(), self.quota)
                nursery.start_soon(mirror.run)
                yield mirror
                nursery.cancel_scope.cancel()

    @asynccontextmanager
    async def coordinator(self) -> AsyncIterator[None]:
        """Logs what is posted, once it has the blob, and signs receipts."""
        async with self.network.open(COORDINATOR) as transport:
            blobs = BlobService(transport, BlobStore(self.path / "coordinator"))

            async def answer(peer: bytes, request: bytes) -> bytes:
                data = Post.parse(request).envelope
                self.posted.append(data)
                if self.troubles:
                    raise self.troubles.pop(0)
                envelope = Envelope.parse(data)
                if data not in self.world.entries:
                    if envelope.type == BatchHeader.payload_type():
                        header = BatchHeader.open(envelope)
                        await blobs.fetch(header.blob_digest, [peer], header.blob_len)
                    try:
                        self.world.log_bytes(data)
                    except LogFault as fault:
                        raise CallRefused(fault.reason) from None
                index, state = self.world.entries.index(data), self.world.state
                proof = state.tree.inclusion_proof(index, state.size)
                receipt = Receipt(state.run, envelope.digest, index, state.size, proof)
                return Posted(index, receipt.seal(self.world.coordinator).encode()).encode()

            serve_calls(transport, POST_PROTOCOL, answer)
            await transport.dial(self.member.transport.addresses()[0])
            yield

    @asynccontextmanager
    async def poster(self) -> AsyncIterator["Poster"]:
        """A peer that posts."""
        async with self.network.open(POSTER) as transport:
            store = BlobStore(self.path / "poster")
            BlobService(transport, store)
            await transport.dial(self.member.transport.addresses()[0])
            yield Poster(self, transport, store)

    @property
    def kept(self) -> list[bytes]:
        """What the mirror's disk keeps."""
        return [self.member.store.get(name) or b"" for name in self.member.store.names(PREFIX)]


class Poster:
    """Posts batches made of one example."""

    def __init__(self, desk: Desk, transport: Any, store: BlobStore) -> None:
        self.desk = desk
        self.transport = transport
        self.store = store

    def batch(self, counter: int, name: str = "ada", **changes: Any) -> bytes:
        """A batch's header as an entry; its blob is here."""
        world, header = example()
        key = world.peers[name]
        registration = world.state.registration(key.public)
        assert registration is not None
        blob = b"games from %d of %s" % (counter, name.encode())
        fields = {
            "peer": key.public,
            "registration": registration.index,
            "first_counter": counter,
            "blob_digest": self.store.put(blob),
            "blob_len": len(blob),
            **changes,
        }
        return dataclasses.replace(header, **fields).seal(key).encode()

    async def post(self, entry: bytes) -> Posted:
        """The mirror's answer."""
        answer = await call(self.transport, HOST.public, POST_PROTOCOL, Post(entry, b"").encode(), timeout_s=60)
        return Posted.parse(answer)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, MemoryNetwork(), world_again())


async def test_a_batch_is_kept_with_its_blob(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror() as mirror, desk.poster() as ada:
        entry = ada.batch(0)
        began = trio.current_time()
        assert await ada.post(entry) == HELD
        assert trio.current_time() - began < 1, "nobody waits for a coordinator that is not there"
        assert await ada.post(entry) == HELD
        assert desk.kept == [entry]
        assert desk.member.blob_store.get(blob_digest(b"games from 0 of ada")) == b"games from 0 of ada"
        assert mirror.names(blob_digest(b"games from 0 of ada"))
        assert [event for event, _ in desk.said] == ["mirrored"], "said once"
        await trio.sleep(100)
        (queue,) = mirror.queues
        assert (queue.name, queue.length) == ("mirrored", 1)


async def test_the_coordinators_answer_is_handed_back(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror() as mirror, desk.coordinator(), desk.poster() as ada:
        entry = ada.batch(0)
        posted = await ada.post(entry)
        assert Receipt.open(Envelope.parse(posted.receipt), desk.world.coordinator.public).index == posted.index
        assert desk.world.entries[posted.index] == entry
        assert desk.kept == []
        again = await ada.post(entry)
        assert (again.index, again.held) == (posted.index, False)
        assert desk.world.entries.count(entry) == 1
        assert mirror.queues[0].length == 0


async def test_all_is_passed_on_by_counter_when_the_coordinator_is_back(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    async with desk.mirror(), desk.poster() as poster:
        order = (4, 0, 6, 2)
        for counter in order:
            for name in ("ada", "bob"):
                assert await poster.post(poster.batch(counter, name)) == HELD
        await poster.transport.disconnect(HOST.public)  # the contributors go for good
        async with desk.coordinator():
            await trio.sleep(10)
            assert desk.kept == []
            for name in ("ada", "bob"):
                own = [poster.batch(counter, name) for counter in sorted(order)]
                assert [entry for entry in desk.posted if entry in own] == own


async def test_a_gap_waits_for_what_is_missing(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.poster() as ada:
        assert await ada.post(ada.batch(2)) == HELD
        async with desk.coordinator():
            await trio.sleep(60)
            assert desk.posted == []
            posted = await ada.post(ada.batch(0))
            assert not posted.held
            await trio.sleep(5)
            assert desk.posted == [ada.batch(0), ada.batch(2)]
            assert desk.kept == []


async def test_a_kill_loses_nothing_that_is_kept(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.poster() as ada:
        for counter in (0, 2):
            await ada.post(ada.batch(counter))
        entries = [ada.batch(0), ada.batch(2)]
        desk.network.kill(HOST.public)
    async with desk.mirror():
        assert desk.kept == entries
        async with desk.coordinator():
            await trio.sleep(10)
            assert desk.world.entries[-2:] == entries


async def test_a_coordinator_in_trouble_is_tried_again(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.coordinator(), desk.poster() as ada:
        desk.troubles = [RuntimeError("reset"), RuntimeError("reset"), CallRefused("No verifier takes batches now.")]
        posted = await ada.post(ada.batch(0))
        assert posted == HELD
        await trio.sleep(60)
        assert desk.world.entries[-1] == ada.batch(0), (
            "a refusal that this copy of the log does not confirm ends nothing"
        )
        assert len(desk.posted) == 4


async def test_what_the_rules_refuse_is_not_taken(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.poster() as ada:
        stranger = dataclasses.replace(example()[1], peer=POSTER.public).seal(POSTER).encode()
        large = ada.batch(2, blob_len=2**22 + 1)
        verdict = desk.world.entries[2]  # an epoch's hash
        for entry, reason in (
            (ada.batch(0, config=bytes(32)), "another search config"),
            (ada.batch(0, games=1), "A batch has 2 games"),
            (stranger, "not registered"),
            (large, "larger than the manifest's limits"),
            (verdict, "passes no epoch-hash on"),
            (b"junk", "."),
        ):
            with pytest.raises(CallRefused, match=reason):
                await ada.post(entry)
        assert desk.kept == []


async def test_a_blob_that_does_not_come_is_said(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.poster() as ada:
        entry = ada.batch(0)
        ada.store.delete(blob_digest(b"games from 0 of ada"))
        with pytest.raises(CallRefused, match="Its blob did not come"):
            await ada.post(entry)
        assert desk.kept == []


async def test_one_contributor_does_not_fill_all_places(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async def give_nothing(stream: object) -> None:
        await trio.sleep_forever()

    async with desk.mirror(), desk.poster() as ada:
        entries = [ada.batch(2 * number) for number in range(AT_ONCE_OF_AUTHOR + 5)]
        ada.transport.serve(BLOB_PROTOCOL, give_nothing)
        refusals: list[str] = []

        async def post(entry: bytes) -> None:
            with pytest.raises(CallRefused) as refusal:
                await ada.post(entry)
            refusals.append(str(refusal.value))

        async with trio.open_nursery() as nursery:
            for entry in entries:
                nursery.start_soon(post, entry)
        assert sum("of this contributor" in each for each in refusals) == 5


async def test_quotas(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    desk.quota = Quota(entries_each=2, entries=3)
    async with desk.mirror(), desk.poster() as poster:
        for counter in (0, 2):
            assert await poster.post(poster.batch(counter)) == HELD
        with pytest.raises(CallRefused, match="keeps 2 entries of this peer"):
            await poster.post(poster.batch(4))
        assert await poster.post(poster.batch(0, "bob")) == HELD
        with pytest.raises(CallRefused, match="keeps 3 entries, and no more"):
            await poster.post(poster.batch(2, "bob"))
        assert desk.kept == [poster.batch(0), poster.batch(2), poster.batch(0, "bob")], "what was first stays"
    desk.quota = Quota(bytes_each=70)
    async with desk.mirror(), desk.poster() as poster:
        assert await poster.post(poster.batch(2, "bob")) == HELD
        assert await poster.post(poster.batch(4, "bob")) == HELD
        with pytest.raises(CallRefused, match="of this peer"):
            await poster.post(poster.batch(6, "bob"))


async def test_a_full_disk_is_a_sentence(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with desk.mirror(), desk.poster() as ada:
        with monkeypatch.context() as patched:
            patched.setattr(desk.member.store, "put", full)
            with pytest.raises(CallRefused, match="disk"):
                await ada.post(ada.batch(0))
        assert [event for event, _ in desk.said] == ["mirror-full"]
        assert await ada.post(ada.batch(0)) == HELD


async def test_what_can_never_be_logged_is_dropped_with_its_blob(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    async with desk.mirror(), desk.poster() as ada:
        first, later = ada.batch(0), ada.batch(2)
        assert await ada.post(first) == HELD
        assert await ada.post(later) == HELD
        other = ada.batch(0, games=0, plies=0, final=True)  # her other machine ends the series
        desk.world.log_bytes(other)
        async with desk.coordinator():
            await trio.sleep(5)
            assert desk.kept == []
            assert desk.posted == []
        assert not desk.member.blob_store.has(blob_digest(b"games from 2 of ada"))
        assert desk.member.blob_store.has(blob_digest(b"games from 0 of ada")), "the log names this blob"
        assert [event for event, _ in desk.said].count("refused") == 2


async def test_registrations_are_passed_on_but_not_kept(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    world = desk.world
    cyd = world.key("cyd")
    size = world.state.size
    record = Registration(world.run, cyd.public, "cyd", b"", size, world.state.tree.root(), world.invite("cyd"), 0)
    entry = record.seal(cyd).encode()
    async with desk.mirror(), desk.poster() as poster:
        with pytest.raises(CallRefused, match="not connected"):
            await poster.post(entry)
        async with desk.coordinator():
            posted = await poster.post(entry)
            assert world.entries[posted.index] == entry
            with pytest.raises(CallRefused, match="registered already"):
                await poster.post(entry)
        assert desk.kept == []


async def test_a_registration_without_a_stamp_goes_no_further(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """It would count against the verifier at the coordinator."""
    plain = small_manifest()
    policy = dataclasses.replace(plain.admission, registration="stamp", stamp_difficulty=2)
    world = World(dataclasses.replace(plain, admission=policy))
    desk = Desk(tmp_path, MemoryNetwork(), world)
    cyd, size = world.key("cyd"), world.state.size
    record = Registration(world.run, cyd.public, "cyd", b"", size, world.state.tree.root(), b"", 0)
    good, is_found = find_stamp(record, 2, 100)
    assert is_found
    tried = (dataclasses.replace(record, stamp=nonce) for nonce in range(1, 100))
    wrong = next(each for each in tried if not is_stamp(each, 2))
    told: list[Misdeed] = []
    async with desk.mirror(), desk.poster() as poster, desk.coordinator():
        desk.member.transport.complain = lambda peer, misdeed: told.append(misdeed)
        for each, reason in ((record, "neither an invite nor a stamp"), (wrong, "does not reach the difficulty")):
            with pytest.raises(CallRefused, match=reason):
                await poster.post(each.seal(cyd).encode())
        assert told == [Misdeed.UNSTAMPED] * 2
        assert desk.posted == []
        entry = good.seal(cyd).encode()
        with pytest.raises(CallRefused, match="waits for a probation slot"):
            await poster.post(entry)
        assert desk.posted == [entry]


async def test_a_post_over_its_size_ends_the_stream(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.poster() as poster:
        with pytest.raises(PeerGone):
            await call(poster.transport, HOST.public, POST_PROTOCOL, bytes(Post.MAX_BYTES + 1))
        assert await poster.post(poster.batch(0)) == HELD


async def test_it_is_in_the_directory(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    async with desk.mirror(), desk.poster() as poster:
        reach = RemoteReach(poster.transport, Ticket(desk.world.run, bytes(32), ()), Random(1))
        dialed: list[str] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reach.seek, dialed.extend)
            await trio.sleep(300)
            nursery.cancel_scope.cancel()
        assert set(dialed) == set(desk.member.transport.addresses())


async def test_without_a_directory_it_works_as_well(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    async def fails(key: bytes) -> None:
        raise Unreachable("Nobody keeps the directory.")

    async with desk.mirror(), desk.poster() as poster:
        monkeypatch.setattr(desk.member.transport, "provide", fails)
        await trio.sleep(300)
        assert await poster.post(poster.batch(0)) == HELD


async def test_a_flood_of_logged_posts_does_not_reach_the_coordinator(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    async with desk.mirror(), desk.coordinator(), desk.poster() as ada:
        entry = ada.batch(0)
        assert (await ada.post(entry)).receipt
        desk.posted.clear()
        answers: list[bool] = []

        async def post() -> None:
            try:
                answers.append(bool((await ada.post(entry)).receipt))
            except CallRefused as refusal:
                assert "passes no more on" in str(refusal) or "busy" in str(refusal)  # noqa: PT017 - many at once
                answers.append(False)

        for _ in range(5):
            async with trio.open_nursery() as nursery:
                for _ in range(30):
                    nursery.start_soon(post)
        assert 0 < len(desk.posted) == sum(answers) < 50
        await trio.sleep(60)
        assert (await ada.post(entry)).receipt
