"""Epoch secrets: on disk before their hash is logged, revealed when spent, and missed when the store is another one."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from node.disk.store import Store, StoreError
from node.peering.transport import Unreachable
from node.verifier.epoch_keeper import EpochKeeper
from protocol.envelope import Envelope
from protocol.epoch import EpochHash
from protocol.root import VERIFIER, Role
from protocol.seeds import epoch_hash
from tests.node.keys import secret
from tests.node.world_member import WorldMember
from tests.verification.world import World
from verification.state import LogState


class Desk(WorldMember):
    """A run whose one verifier has no epoch yet."""

    def __init__(self, store: Store) -> None:
        super().__init__(World(), store)
        beginning, self.world.entries = self.world.entries[:2], []
        self.world.state = LogState(self.world.run)
        for entry in beginning:
            self.world.log_bytes(entry)
        self.key = self.world.verifiers[0]
        self.keeper = EpochKeeper(self, self.key)  # type: ignore[arg-type]

    def epochs(self) -> list[bool]:
        """Of each epoch in the log whether it is revealed."""
        return [info.secret is not None for info in self.state.epochs.all(self.key.public)]

    async def keep(self, seconds: float) -> None:
        with trio.move_on_after(seconds):
            await self.keeper.run()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Store(tmp_path / "node.db") as store:
        yield Desk(store)


async def test_the_first_epoch_begins_at_once(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    await desk.keep(5)
    assert desk.epochs() == [False]
    assert desk.posts == 1
    info = desk.state.epochs.all(desk.key.public)[0]
    logged = EpochHash.parse(Envelope.parse(desk.world.entries[info.index]).payload)
    assert logged.secret_hash == epoch_hash(desk.state.run, desk.key.public, 0, desk.keeper.secret_of(0))


async def test_the_secret_is_on_disk_before_its_hash_is_posted(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    seen: list[bytes | None] = []
    desk.before_post = lambda: seen.append(desk.store.get("epoch/0"))
    desk.troubles = [Unreachable("Nobody is there."), Unreachable("Nobody is there.")]
    await desk.keep(10)
    assert len(seen) == 3
    assert len(set(seen)) == 1, "a repetition posts the same hash"
    assert seen[0] is not None
    assert len(seen[0]) == 32


async def test_the_next_begins_before_the_old_one_ends_which_is_then_revealed(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    await desk.keep(3)
    entries = desk.world.manifest.admission.epoch_entries
    desk.world.ticks(4 * entries // 5 - 1)
    await desk.keep(3)
    assert desk.epochs() == [False]
    desk.world.ticks(1)
    await desk.keep(5)
    assert desk.epochs() == [True, False]
    assert desk.keeper.secret_of(0) != desk.keeper.secret_of(1)


async def test_a_drain_reveals_all_but_a_fresh_one(desk: Desk, autojump_clock: trio.testing.MockClock) -> None:
    await desk.keep(3)
    await desk.keeper.finish()
    assert desk.epochs() == [True, False]
    again = EpochKeeper(desk, desk.key)  # type: ignore[arg-type]
    with trio.move_on_after(5):
        await again.run()
    assert desk.epochs() == [True, False], "the next start goes on with the fresh one"


async def test_a_store_that_never_held_the_secret(desk: Desk, tmp_path: Path) -> None:
    with trio.move_on_after(0.2):
        await desk.keeper.run()
    assert desk.epochs() == [False]
    with Store(tmp_path / "other.db") as other:
        desk.store = other
        with pytest.raises(StoreError, match="epoch 0 is not in this node's store"):
            desk.keeper.secret_of(0)


async def test_a_key_that_is_not_approved_posts_nothing_and_says_so_once(
    desk: Desk, autojump_clock: trio.testing.MockClock
) -> None:
    world, new = desk.world, secret(9)
    desk.keeper, desk.key = EpochKeeper(desk, new), new  # type: ignore[arg-type]
    await desk.keep(30)
    await desk.keeper.finish()
    assert (desk.posts, desk.said, desk.keeper.unapproved_since) == (0, ["waiting"], 0.0)
    roles = (*world.root.roles, Role(VERIFIER, new.public, "new"))
    world.log(
        dataclasses.replace(world.root, run=world.run, version=2, roles=roles, witness_threshold=2), world.root_key
    )
    await desk.keep(5)
    assert (desk.epochs(), desk.said, desk.keeper.unapproved_since) == ([False], ["waiting", "approved"], None)
    await desk.keep(5)
    assert desk.said == ["waiting", "approved"]
