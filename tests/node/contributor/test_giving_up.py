"""Games that nobody can log any more are given up, also while play rests; nothing is searched for them."""

from collections.abc import Callable
from pathlib import Path

import trio
from trio.testing import MockClock

from native.pool import Done, Job
from native.search import Player
from node.contributor.contributor import Contributor
from node.disk.blob_store import BlobStore
from node.disk.store import Store
from node.gate_player import GatePlayer
from node.outbox import Outbox
from protocol.gate import GateAssignment
from tests.node.world_member import WorldMember
from tests.sim.inline_engine import InlineEngine
from tests.verification.gates import assign, candidate
from tests.verification.test_batches import policy
from tests.verification.world import World
from verification.releases import ReleaseInfo

LIVE_ENTRIES = 30


class Endless(InlineEngine):
    """Ends no game."""

    def __init__(self) -> None:
        super().__init__()
        self.playing = 0

    async def play(self, job: Job) -> Done:
        self.playing += 1
        try:
            await trio.sleep_forever()
        finally:
            self.playing -= 1


class GivingUp(WorldMember):
    """A member that has the world's networks."""

    def __init__(self, world: World, store: Store, folder: Path) -> None:
        super().__init__(world, store)
        self.blob_store = BlobStore(folder)
        self.build = self.cpu = "test"

    @property
    def releases(self) -> tuple[ReleaseInfo, ...]:
        return tuple(self.state.releases.all)

    async def gate_players(self, assignment: GateAssignment) -> tuple[Player, Player]:
        base = self.state.release_by_id(assignment.base)
        assert base is not None
        return self.world.candidate_player(assignment.candidate), self.world.player(base)

    def wake(self) -> None:
        """Who waits looks ten times a second."""


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await trio.sleep(0.1)


async def test_own_games_of_a_release_that_is_no_longer_live(tmp_path: Path, autojump_clock: MockClock) -> None:
    world, engine = World(policy(final_entries=LIVE_ENTRIES)), Endless()
    ada = world.register("ada")
    old = world.state.release
    with Store(tmp_path / "node.db") as store:
        member = GivingUp(world, store, tmp_path)
        role = Contributor(member, ada, engine, "scalar", 2, b"", "ada")  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            ended = trio.Event()

            async def play() -> None:
                await role._play_release(old, world.player(old))
                ended.set()

            nursery.start_soon(play)
            await until(lambda: engine.playing == 2)
            world.cycle()
            await trio.sleep(5)
            assert engine.playing == 2
            while world.state.releases.is_live(old, world.state.size):
                world.ticks(1)
            with trio.move_on_after(5):
                await ended.wait()
            assert ended.is_set()
            assert engine.playing == 0
            assert store.outbox("batch") == []
            store.put_game(bytes(32), 0, b"of a release out of use")
            nursery.start_soon(role._play_release, world.state.release, world.player(world.state.release))
            await until(lambda: engine.playing == 2)
            assert store.games_count(bytes(32)) == 0
            nursery.cancel_scope.cancel()


async def test_gate_games_of_an_assignment_that_is_over(tmp_path: Path, autojump_clock: MockClock) -> None:
    world, engine = candidate(), Endless()
    assign(world, "ada")
    world.share_set()
    with Store(tmp_path / "node.db") as store:
        member = GivingUp(world, store, tmp_path)
        player = GatePlayer(member, world.peers["ada"], engine, Outbox(member))  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(player.run)
            await until(lambda: engine.playing > 0)
            await trio.sleep(5)
            assert engine.playing > 0
            world.ticks(21)
            await trio.sleep(5)
            assert engine.playing == 0
            await player.idle()
            assert store.outbox("gate-result") == []
            nursery.cancel_scope.cancel()
