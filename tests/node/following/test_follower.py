"""Following the log: lying peers, forks, entries against the rules."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from node.following.fork import ForkProof
from node.following.heads import LogForked, LogRefused
from node.following.service import LOG_PROTOCOL
from node.following.stored_log import replay_log
from node.peering.call import CallRefused, call, serve_calls
from protocol import codec
from protocol.checkpoint import Checkpoint
from protocol.errors import BadProof, ProtocolError, WrongSigner
from protocol.merkle import Tree
from protocol.seeds import log_origin
from tests.node.following.copies import (
    BEGINNING,
    FORBIDDEN,
    OTHER,
    PEN,
    ROOT,
    RUN,
    Log,
    Rules,
    cosigned,
    logs,
    tick,
)


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
    async with logs(tmp_path, 2) as (source, mine):
        follower = mine.follower(tmp_path, source)
        source.extend([*BEGINNING, tick(2)])
        head = source.sign()
        assert await follower.cosigned() is None
        known = cosigned(head)
        source.store.put_head(known)
        for number in range(3, 9):
            source.extend([tick(number)])
            source.sign()
        await follower.sync_once()
        assert mine.replica.size == 9
        assert follower.cosigned_size == 3
        assert await follower.cosigned() == known
        assert mine.store.newest_head(3) == known


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
        assert mine.replica.size == mine.store.log_size == 0
        source.grow()
        await mine.follower(tmp_path, source).sync_once()
        newest = mine.store.newest_head()
        source.extend([tick(4)])
        source.sign(OTHER)
        assert not await mine.follower(tmp_path, source).sync_once()
        assert mine.replica.size == 4
        assert mine.store.newest_head() == newest


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
    async with logs(tmp_path, 2) as (source, mine):
        source.extend([*BEGINNING, tick(2)])
        with pytest.raises(CallRefused):
            await call(mine.transport, source.transport.key, LOG_PROTOCOL, codec.encode(request_value))
        assert not source.transport.faults()
