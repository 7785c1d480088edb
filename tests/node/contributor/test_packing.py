"""Batches of finished games: which counters they have, also when the series changes while canaries are computed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from native.canary import WrongMachine
from node.contributor.contributor import Contributor
from node.disk.blob_store import BlobStore
from node.disk.store import Series, Store
from node.peering.post import Post
from protocol.entries import parse_entry
from protocol.header import BatchHeader
from tests.node.world_member import WorldMember
from tests.verification.world import World


class Canaries:
    """As much of an engine as sealing needs."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] = lambda: None
        self.calls = 0

    async def verify_canaries(self) -> None:
        self.calls += 1
        self.meanwhile()


@pytest.fixture(scope="module")
def world() -> World:
    """A run with a registered contributor; look only."""
    world = World()
    world.register("ada")
    return world


@pytest.fixture(scope="module")
def blocks(world: World) -> list[bytes]:
    """Two batches of her games, from counter 0 on."""
    return world.games(world.peers["ada"], 2 * world.manifest.admission.games_per_batch)


@pytest.fixture
def member(world: World, blocks: list[bytes], tmp_path: Path) -> Iterator[WorldMember]:
    with Store(tmp_path / "node.db") as store:
        member = WorldMember(world, store)
        member.__dict__ |= {"blob_store": BlobStore(tmp_path), "build": "test", "cpu": "test"}
        for counter, block in enumerate(blocks):
            store.put_game(member.state.releases.all[0].id, counter, block)
        yield member


def role_of(member: WorldMember, engine: Canaries) -> Contributor:
    return Contributor(member, member.world.peers["ada"], engine, "scalar", 1, b"", "ada")  # type: ignore[arg-type]


def sealed(member: WorldMember) -> list[tuple[int, int]]:
    """First counter and games of each batch in the outbox."""
    records = [parse_entry(Post.parse(item.payload).envelope).record for item in member.store.outbox("batch")]
    return [(record.first_counter, record.games) for record in records if isinstance(record, BatchHeader)]


async def test_each_batch_has_canaries_of_its_own(member: WorldMember) -> None:
    engine = Canaries()
    role = role_of(member, engine)
    (release,) = member.state.releases.all
    per_batch = member.state.manifest.admission.games_per_batch
    await role._pack(release, final=False)
    assert sealed(member) == [(0, per_batch), (per_batch, per_batch)]
    assert engine.calls == 2
    assert member.store.series(release.id) == Series(release.id, 2 * per_batch, False)
    assert member.store.games(release.id) == []


async def test_a_series_that_is_set_back_meanwhile_waits_for_its_lost_games(member: WorldMember) -> None:
    engine = Canaries()
    role = role_of(member, engine)
    (release,) = member.state.releases.all
    per_batch = member.state.manifest.admission.games_per_batch
    await role._pack(release, final=False)
    lost = Series(release.id, 0, False)  # as the outbox does when a blob is gone
    for counter in range(per_batch):
        member.store.put_game(release.id, 2 * per_batch + counter, b"")
    engine.meanwhile = lambda: member.store.put_series(lost)
    await role._pack(release, final=False)
    assert len(sealed(member)) == 2
    assert member.store.series(release.id) == lost


async def test_a_wrong_machine_seals_nothing(member: WorldMember) -> None:
    engine = Canaries()
    role = role_of(member, engine)

    def fail() -> None:
        raise WrongMachine("This machine computes wrongly.")

    engine.meanwhile = fail
    with pytest.raises(WrongMachine):
        await role._pack(member.state.releases.all[0], final=False)
    assert sealed(member) == []
