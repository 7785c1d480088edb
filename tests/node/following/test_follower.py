"""Following the log: lying peers, forks, entries against the rules."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from node.disk.store import Head, Store
from node.following.follower import LogFollower, LogForked, LogRefused, replay_log
from node.following.fork import ForkProof
from node.following.service import LOG_PROTOCOL, LogService
from node.peering.call import serve_calls
from node.peering.memory.network import MemoryNetwork
from node.peering.memory.transport import MemoryTransport
from protocol import codec
from protocol.checkpoint import Checkpoint, SignedNote, cosign
from protocol.entries import Entry, parse_entry
from protocol.errors import BadProof, ProtocolError, WrongSigner
from protocol.merkle import Tree
from protocol.receipt import Tick
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import log_origin, run_id
from protocol.types import ZERO
from tests.node.keys import secret
from verification.witness import witness_name

OWNER, PEN, OTHER = secret(100), secret(101), secret(102)
FORBIDDEN = 666
ROOT = Root(ZERO, 1, 1, (OWNER.public,), (Role(COORDINATOR, PEN.public, "pen"),), 1).seal(OWNER)
MANIFEST = Tick(ZERO, 1, 0).seal(OWNER)  # any second entry makes the run id; the rules are the replica's matter
RUN = run_id(ROOT.payload, MANIFEST.payload)


class Rules:
    """A replica whose only rule is that no tick has the forbidden time."""

    def __init__(self) -> None:
        self.run = RUN
        self.tree = Tree()
        self.root = Root.parse(ROOT.payload)

    @property
    def size(self) -> int:
        return self.tree.size

    def apply(self, entry: bytes) -> Entry:
        parsed = parse_entry(entry)
        if isinstance(parsed.record, Tick) and parsed.record.unix_s == FORBIDDEN:
            raise ProtocolError("This tick is forbidden.")
        self.tree.append(entry)
        return parsed


def tick(number: int, unix_s: int = 0) -> bytes:
    return Tick(RUN, number, unix_s).seal(PEN).encode()


BEGINNING = [ROOT.encode(), MANIFEST.encode()]


@dataclass
class Log:
    """One node's copy."""

    transport: MemoryTransport
    replica: Rules
    store: Store
    service: LogService

    def extend(self, entries: Sequence[bytes]) -> None:
        for entry in entries:
            self.replica.tree.append(entry)
        self.store.append(entries)

    def sign(self, key: object = PEN) -> Head:
        head = Checkpoint(log_origin(RUN), self.replica.size, self.replica.tree.root())
        signed = Head(head.size, head.root_hash, head.sign(PEN if key is PEN else OTHER).encode())
        self.store.put_head(signed)
        return signed

    def follower(self, path: Path, *peers: "Log", **more: Any) -> LogFollower:
        keys = [peer.transport.key for peer in peers]
        return LogFollower(self.transport, self.replica, self.store, lambda: keys, path, rng=Random(1), **more)


@asynccontextmanager
async def logs(path: Path, count: int) -> AsyncIterator[list[Log]]:
    network = MemoryNetwork()
    async with AsyncExitStack() as stack:
        made: list[Log] = []
        for number in range(count):
            transport = await stack.enter_async_context(network.open(secret(number)))
            store = stack.enter_context(Store(path / str(number) / "node.db"))
            replica = Rules()
            made.append(Log(transport, replica, store, LogService(transport, replica, store)))
        for log in made:
            for peer in made:
                if peer is not log:
                    await log.transport.dial(peer.transport.addresses()[0])
        yield made


async def test_follow_in_steps_and_from_any_peer(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 3) as (source, first, second):
        follower = first.follower(tmp_path, source)
        assert not await follower.sync_once()
        source.extend(BEGINNING)
        source.sign()
        assert await follower.sync_once()
        assert first.replica.size == 2
        source.extend([tick(number) for number in range(2, 5000)])
        source.sign()
        source.extend([tick(5000)])
        await follower.sync_once()
        assert first.replica.size == 5000
        assert first.replica.tree.root() == source.replica.tree.root(5000)
        assert list(first.store.iterate_log()) == list(source.store.iterate_log())[:5000]
        newest = follower.newest
        assert newest is not None
        assert newest.size == 5000
        await second.follower(tmp_path, first).sync_once()
        assert second.replica.tree.root() == first.replica.tree.root()
        again = Rules()
        replay_log(again, first.store)
        assert again.tree.root() == first.replica.tree.root()


async def test_the_newest_cosigned_head_is_found_below_newer_ones(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    witness = secret(7)
    async with logs(tmp_path, 2) as (source, mine):
        roles = (*source.replica.root.roles, Role(VERIFIER, witness.public, "witness"))
        for log in (source, mine):
            log.replica.root = replace(log.replica.root, roles=roles)
        follower = mine.follower(tmp_path, source)
        source.extend([*BEGINNING, tick(2)])
        head = source.sign()
        assert await follower.cosigned() is None
        note = SignedNote.parse(head.note)
        line = cosign(note.text, witness, witness_name(witness.public), 1)
        cosigned = Head(head.size, head.root, note.with_signatures([line]).encode())
        source.store.put_head(cosigned)
        for number in range(3, 9):
            source.extend([tick(number)])
            source.sign()
        await follower.sync_once()
        assert mine.replica.size == 9
        assert await follower.cosigned() == cosigned
        assert mine.store.newest_head(3) == cosigned


async def test_run_pulls_what_a_hint_announces(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine), trio.open_nursery() as nursery:
        send, seen = trio.open_memory_channel[int](10)
        follower = mine.follower(tmp_path, source, on_entry=lambda index, entry: send.send_nowait(index))
        nursery.start_soon(follower.run)
        source.extend(BEGINNING)
        source.sign()
        assert [await seen.receive(), await seen.receive()] == [0, 1]
        source.extend([tick(2)])
        head = source.sign()
        follower.hint(head.note)
        follower.hint(b"nonsense")
        assert await seen.receive() == 2
        nursery.cancel_scope.cancel()


async def test_only_the_coordinators_heads_count(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        source.extend([*BEGINNING, tick(2)])
        source.sign(OTHER)
        assert not await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == 2
        assert mine.store.newest_head() is None


async def test_another_run_does_not_begin(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        source.extend([ROOT.encode(), tick(1), tick(2)])
        source.sign()
        assert not await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == mine.store.log_size == 0


def changed(answer: Callable[[dict[str, codec.Value]], codec.Value], honest: Log) -> object:
    """A handler that changes an honest log's answers to `entries`."""

    async def handle(peer: bytes, request: bytes) -> bytes:
        value = codec.decode(await honest.service._answer(peer, request), 1 << 22)
        assert isinstance(value, dict)
        return codec.encode(answer(value) if "entries" in value and honest.replica.size > 2 else value)

    return handle


@pytest.mark.parametrize("lie", ["entry", "order", "short", "empty", "proof", "type", "extra"])
async def test_lying_peer_changes_nothing(lie: str, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    def answer(value: dict[str, codec.Value]) -> codec.Value:
        entries, proof = value["entries"], value["proof"]
        assert isinstance(entries, list)
        if len(entries) <= 2:
            return value
        lies: dict[str, codec.Value] = {
            "entry": {"entries": [*entries[:-1], tick(77)], "proof": proof},
            "order": {"entries": entries[::-1], "proof": proof},
            "short": {"entries": entries[:-1], "proof": proof},
            "empty": {"entries": [], "proof": []},
            "proof": {"entries": entries, "proof": [bytes(32)]},
            "type": {"entries": ["text"], "proof": proof},
            "extra": {"entries": entries, "proof": proof, "more": 1},
        }
        return lies[lie]

    async with logs(tmp_path, 3) as (source, liar, mine):
        for log in (source, liar):
            log.extend([*BEGINNING, *(tick(number) for number in range(2, 40))])
            log.sign()
        serve_calls(liar.transport, LOG_PROTOCOL, changed(answer, liar))  # type: ignore[arg-type]
        assert await mine.follower(tmp_path, liar).sync_once()
        assert mine.replica.size == 2
        assert await mine.follower(tmp_path, liar, source).sync_once()
        assert mine.replica.tree.root() == source.replica.tree.root()
        assert not list(tmp_path.glob("*.proof"))


@pytest.mark.parametrize(("mine_at", "fork_at"), [(10, 10), (10, 15), (15, 10), (10, 11), (64, 3)])
async def test_fork_is_proved(
    mine_at: int, fork_at: int, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with logs(tmp_path, 3) as (source, fork, mine):
        source.extend([*BEGINNING, *(tick(number) for number in range(2, mine_at))])
        fork.extend([*BEGINNING, *(tick(number, 1) for number in range(2, fork_at))])
        source.sign()
        fork.sign()
        await mine.follower(tmp_path, source).sync_once()
        with pytest.raises(LogForked, match="contradict each other"):
            await mine.follower(tmp_path, fork).sync_once()
        assert mine.replica.tree.root() == source.replica.tree.root()
        (path,) = tmp_path.glob("*.proof")
        proof = ForkProof.parse(path.read_bytes())
        older, newer = proof.verify(RUN, PEN.public)
        assert (older.size, newer.size) == (min(mine_at, fork_at), max(mine_at, fork_at))
        with pytest.raises(WrongSigner):
            proof.verify(RUN, OTHER.public)
        with pytest.raises(ProtocolError):
            proof.verify(bytes(32), PEN.public)


def test_growth_is_no_fork() -> None:
    tree = Tree([*BEGINNING, *(tick(number) for number in range(2, 20))])
    notes = [Checkpoint(log_origin(RUN), size, tree.root(size)).sign(PEN).encode() for size in (7, 20)]
    proof = ForkProof(notes[0], notes[1], tree.root(7), tree.consistency_proof(7, 20))
    with pytest.raises(BadProof, match="not forked"):
        ForkProof.parse(proof.encode()).verify(RUN, PEN.public)
    with pytest.raises(BadProof):
        ForkProof(notes[0], notes[1], bytes(32), proof.path).verify(RUN, PEN.public)


async def test_forbidden_entry_ends_belief(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    async with logs(tmp_path, 2) as (source, mine):
        source.extend([*BEGINNING, tick(2), tick(3, FORBIDDEN), tick(4)])
        source.sign()
        with pytest.raises(LogRefused, match=r"entry at 3 that the rules refuse: This tick is forbidden"):
            await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == mine.store.log_size == 3


@pytest.mark.parametrize(
    "request_value",
    [
        {},
        {"op": "entries"},
        {"op": "entries", "start": 0, "limit": 10, "size": 99},
        {"op": "entries", "start": 5, "limit": 10, "size": 4},
        {"op": "prefix", "old": -1, "new": 3},
        {"op": "prefix", "old": 0, "new": 2**63},
        {"op": "head", "more": 1},
    ],
)
async def test_bad_requests_are_refused(
    request_value: codec.Value, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    from node.peering.call import CallRefused, call

    async with logs(tmp_path, 2) as (source, mine):
        source.extend([*BEGINNING, tick(2)])
        with pytest.raises(CallRefused):
            await call(mine.transport, source.transport.key, LOG_PROTOCOL, codec.encode(request_value))
        assert not source.transport.faults()
