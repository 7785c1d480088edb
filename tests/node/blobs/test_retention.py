"""What is deleted from a node's disk, and what never is."""

import os
from pathlib import Path

import trio
import trio.testing

from node.blobs.retention import EVERY_S, MAX_AGE_S, PARTIAL_AGE_S, RELEASES, Retention, needed_blobs
from node.disk.blob_store import BlobStore
from node.disk.store import Store
from protocol.seeds import PPM
from tests.node.homes import grown_world
from tests.verification.test_batches import policy
from tests.verification.world import World

NOW = 1_800_000_000.0
DAY_S = 86_400.0


class Disk:
    """A store with blobs of 1000 bytes, and a clock."""

    def __init__(self, path: Path) -> None:
        self.now = NOW
        self.needed: set[bytes] = set()
        self.store = BlobStore(path / "public", lambda: self.now)

    def put(self, number: int, age_days: float) -> bytes:
        digest = self.store.put(bytes([number]) * 1000)
        used = NOW - age_days * DAY_S
        os.utime(self.store.path(digest), (used, used))
        return digest

    def retention(self, keep_bytes: int, fetching: tuple[bytes, ...] = ()) -> Retention:
        return Retention(self.store, lambda: self.needed.__contains__, keep_bytes, lambda: fetching, lambda: self.now)


def test_age(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    old, young, in_use = disk.put(1, 31), disk.put(2, 29), disk.put(3, 400)
    disk.needed = {in_use}
    assert disk.retention(10**6).sweep() == [old]
    assert set(disk.store.digests()) == {young, in_use}
    disk.now += MAX_AGE_S
    assert disk.retention(10**6).sweep() == [young]


def test_size_takes_what_was_used_longest_ago(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    digests = [disk.put(number, number) for number in range(6)]
    disk.needed = {digests[5]}
    disk.store.get(digests[4])
    assert disk.retention(3500).sweep() == [digests[3], digests[2], digests[1]]
    assert set(disk.store.digests()) == {digests[0], digests[4], digests[5]}
    disk.needed = set(digests)
    assert disk.retention(0).sweep() == []


def test_a_clock_set_back_deletes_nothing(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.put(1, 0)
    disk.now -= 1000 * DAY_S
    assert disk.retention(10**6).sweep() == []


def test_given_up_fetches(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    disk.store.partial.mkdir(parents=True)
    running, old, young = (bytes([number]) * 32 for number in range(3))
    for digest, age_s in ((running, 2 * PARTIAL_AGE_S), (old, 2 * PARTIAL_AGE_S), (young, 60)):
        path = disk.store.partial_path(digest, "part")
        path.write_bytes(b"x")
        os.utime(path, (NOW - age_s, NOW - age_s))
    disk.retention(10**6, (running,)).sweep()
    assert sorted(path.name for path in disk.store.partial.iterdir()) == sorted(
        f"{digest.hex()}.part" for digest in (running, young)
    )


async def test_it_sweeps_now_and_then(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    disk = Disk(tmp_path)
    disk.put(1, 31)
    with trio.move_on_after(EVERY_S + 1):
        await disk.retention(10**6).run()
    assert not list(disk.store.digests())


def test_what_a_node_needs(tmp_path: Path) -> None:
    world = grown_world()
    state = world.state
    with Store(tmp_path / "node.db") as store:
        waiting = bytes(range(32))
        store.put_outbox("batch", b"key", b"a header with " + waiting + b" in it")
        kept = b"k" * 32
        needed = needed_blobs(state, store, kept.__eq__)
        assert needed(waiting)
        assert needed(kept)
        assert not needed(bytes(32))
        for release in state.releases.all[1:]:
            assert needed(release.network_blob)
        decided = [batch for batch in state.batches.all if batch not in state.batches.open]
        assert decided
        assert not any(needed(batch.header.blob_digest) for batch in decided)
        assert all(needed(batch.header.blob_digest) for batch in state.batches.open)


def test_networks_of_what_is_to_be_filled_in_stay(tmp_path: Path) -> None:
    world = World(policy(tail_ppm=PPM, final_entries=10))
    world.register("ada")
    for _ in range(5):
        world.cycle()
    world.ticks(12)
    world.share_set()
    with Store(tmp_path / "node.db") as store:
        needed = needed_blobs(world.state, store, lambda digest: False)
    ended = [fill.release for fill in world.state.fills.open]
    old = [release for release in world.state.releases.all[1:-RELEASES] if release.id in ended]
    assert old
    assert all(needed(release.network_blob) for release in old)
    world.ticks(60)
    with Store(tmp_path / "node.db") as store:
        needed = needed_blobs(world.state, store, lambda digest: False)
    assert not any(needed(release.network_blob) for release in old)
