"""Filling in: what is played, what is kept over a kill, what is given up, and what is sent."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from native.canary import WrongMachine
from native.pool import Done, Job
from native.search import Player
from node.contributor.fill_player import GAMES, FillPlayer
from node.disk.blob_store import BlobStore
from node.disk.store import Store
from node.gate_player import GatePlayer
from node.outbox import FILLED, Outbox
from node.peering.post import Post
from protocol.admission import LOST, Admission, Decision
from protocol.entries import parse_entry
from protocol.header import BatchHeader
from protocol.seeds import PPM
from protocol.types import ZERO
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.test_batches import accept, policy
from tests.verification.world import World
from verification.releases import ReleaseInfo
from verification.series import Fill


class Counting(InlineEngine):
    """Counts games; from game `hangs_from` on (the first is 0) it never ends one, and a wrong one's canaries fail."""

    def __init__(self) -> None:
        super().__init__(game_s=0.0)
        self.plays = 0
        self.hangs_from = 100
        self.is_wrong = False

    async def play(self, job: Job) -> Done:
        self.plays += 1
        if self.plays > self.hangs_from:
            await trio.sleep_forever()
        return await super().play(job)

    async def verify_canaries(self) -> None:
        if self.is_wrong:
            raise WrongMachine("This machine computes wrongly.")


class FillMember(WorldMember):
    """A member that has the world's networks and keeps blobs."""

    def __init__(self, world: World, store: Store, folder: Path) -> None:
        super().__init__(world, store)
        self.blob_store = BlobStore(folder)
        self.build = self.cpu = "test"

    async def player_of(self, release: ReleaseInfo) -> Player:
        return self.world.player(release)

    def wake(self) -> None:
        """Who waits looks ten times a second."""


@pytest.fixture
def world() -> World:
    """ada and bob have played; ada's series is ended, and bob is asked to play on."""
    world = World(policy(tail_ppm=PPM, hold_back_batches=0, timeout_entries=60))
    for name in ("ada", "bob"):
        accept(world, world.play(world.register(name)))
    world.play(world.peers["ada"], games=0, final=True)
    assignment = world.state.fills.next_assignment(world.state.size)
    assert assignment is not None
    assert assignment.player == world.peers["bob"].public
    world.log(assignment, world.coordinator)
    return world


@pytest.fixture
def member(world: World, tmp_path: Path) -> Iterator[FillMember]:
    with Store(tmp_path / "node.db") as store:
        yield FillMember(world, store, tmp_path)


def player_of(member: FillMember, engine: Counting, name: str = "bob") -> FillPlayer:
    secret = member.world.peers[name]
    outbox = Outbox(member)  # type: ignore[arg-type]
    gate = GatePlayer(member, secret, engine, outbox)  # type: ignore[arg-type]
    return FillPlayer(member, secret, engine, "scalar", outbox, gate)  # type: ignore[arg-type]


def sent(member: FillMember) -> list[BatchHeader]:
    records = [parse_entry(Post.parse(item.payload).envelope).record for item in member.store.outbox("batch")]
    return [record for record in records if isinstance(record, BatchHeader)]


def log_sent(member: FillMember) -> int:
    (item,) = member.store.outbox("batch")
    return member.world.log_bytes(Post.parse(item.payload).envelope)


async def run_for(player: FillPlayer, seconds: float = 1.0) -> None:
    with trio.move_on_after(seconds):
        await player.run()


def the_fill(member: FillMember) -> Fill:
    (fill,) = member.state.fills.open
    return fill


async def test_what_is_asked_is_played_and_sent_once(member: FillMember, autojump_clock: trio.abc.Clock) -> None:
    engine, fill = Counting(), the_fill(member)
    await run_for(player_of(member, engine))
    (header,) = sent(member)
    assert (header.owner, header.release, header.first_counter) == (fill.owner, fill.release, fill.first_counter)
    assert engine.plays == header.games == fill.games
    assert member.store.names(GAMES) == []
    await run_for(player_of(member, engine))  # after a kill
    assert engine.plays == fill.games
    index = log_sent(member)
    batch = member.state.batch(index)
    assert batch is not None
    member.world.blobs[header.blob_digest] = member.blob_store.get(header.blob_digest) or b""
    member.world.share_set()
    assert member.world.judge(batch) is None
    member.world.admit()
    await run_for(player_of(member, engine))
    assert member.store.names(FILLED) == []


async def test_a_kill_keeps_finished_games(member: FillMember, autojump_clock: trio.abc.Clock) -> None:
    engine = Counting()
    engine.hangs_from = 1
    await run_for(player_of(member, engine))
    assert len(member.store.names(GAMES)) == 1
    assert sent(member) == []
    again = Counting()
    await run_for(player_of(member, again))
    assert again.plays == the_fill(member).games - 1
    assert len(sent(member)) == 1


async def test_nothing_is_begun_before_it_is_witnessed_nor_after_a_drain(
    member: FillMember, autojump_clock: trio.abc.Clock
) -> None:
    engine = Counting()
    member.is_witnessed = False
    await run_for(player_of(member, engine))
    member.is_witnessed = True
    player = player_of(member, engine)
    player.drain()
    await run_for(player)
    assert engine.plays == 0


async def test_what_lapsed_is_given_up_and_swept(member: FillMember, autojump_clock: trio.abc.Clock) -> None:
    engine = Counting()
    engine.hangs_from = 1
    player = player_of(member, engine)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(player.run)
        await trio.sleep(1)
        assert not player._idle.is_set()
        member.world.ticks(200)
        with trio.fail_after(1):
            await player.idle()
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert member.state.fills.lapsed == 1
    assert member.store.names(GAMES) == []
    assert sent(member) == []


async def test_a_wrong_machine_sends_nothing(member: FillMember, autojump_clock: trio.abc.Clock) -> None:
    engine = Counting()
    engine.is_wrong = True
    player = player_of(member, engine)
    with pytest.raises(WrongMachine):
        await player.run()
    assert sent(member) == []
    player.forget_games()
    assert member.store.names(GAMES) == []


@pytest.mark.parametrize("is_copy_kept", [True, False])
async def test_an_own_batch_that_was_lost_is_sent_again(
    member: FillMember, is_copy_kept: bool, autojump_clock: trio.abc.Clock
) -> None:
    world = member.world
    lost = world.play(world.peers["bob"])
    world.ticks(61)
    decision = Decision(lost.index, lost.index, LOST, ZERO, lost.q_ppm, "")
    world.log(Admission(world.run, (decision,)), world.coordinator)
    if is_copy_kept:
        assert member.blob_store.put(world.blobs[lost.header.blob_digest]) == lost.header.blob_digest
    engine = Counting()
    await run_for(player_of(member, engine))
    assert engine.plays == (2 if is_copy_kept else 4)  # ada's tail, and his own games where no copy is here
    header = next(header for header in sent(member) if header.owner == header.peer)
    assert replace(header, fill_for=b"", kernel=lost.header.kernel, build="0.1.0") == lost.header
    assert header.fill_for == header.peer
