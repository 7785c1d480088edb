"""A copy of a run: what nobody has is left out and asked for again, heads are shown with what they name, peers may go."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
import trio.testing

from node.audits.errors import AuditInputError
from node.audits.folder_audit import audit_home
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.store import Head, Store
from node.mirror import AGAIN_S, LOOK_S, Mirror, check_home
from node.peering.transport import Unreachable
from node.services import Services
from protocol.checkpoint import Checkpoint, SignedNote
from tests.node.homes import grown_world, make_home
from verification.audit.audit import AuditOptions, Progress
from verification.audit.files import kept_blobs

COORDINATOR, OTHER = b"coordinator", b"other"


class Copy:
    """As much of a member as a mirror needs; from the call `n` on only the peers `absences[n]` are there."""

    def __init__(self, source: Home, target: Home, store: Store) -> None:
        self.state = grown_world().state
        self.store = store
        self.home = target
        self.rng = Random(1)
        self.blobs = self.reach = self.follower = self
        self.services = Services(self.events, self.rng)
        self.calls = 0
        self.asked: list[bytes] = []
        self.present = [COORDINATOR, OTHER]
        self.absences: dict[int, list[bytes]] = {}
        self.cosigned_size = 0
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.blob_store = BlobStore(target.public)
        self._source = BlobStore(source.public)

    def events(self, event: str, text: str, **values: Any) -> None:
        self.told.append((event, values))

    def peers(self) -> list[bytes]:
        return self.present

    def coordinators(self) -> list[bytes]:
        return [peer for peer in self.present if peer == COORDINATOR]

    def jitter(self, seconds: float) -> float:
        return seconds

    def unix_s(self, since_s: float | None) -> int | None:
        return None if since_s is None else int(since_s)

    async def until_size(self, size: int) -> None:
        assert self.state.size >= size

    async def change_within(self, seconds: float) -> None:
        await trio.sleep(seconds)

    async def cosigned(self) -> Head:
        """The newest head."""
        note = grown_world().note()
        head = Checkpoint.parse(SignedNote.parse(note).text)
        return Head(head.size, head.root_hash, note)

    async def fetch(self, digest: bytes, *_: Any) -> bytes:
        self.asked.append(digest)
        self.present = self.absences.get(self.calls, self.present)
        self.calls += 1
        await trio.lowlevel.checkpoint()
        data = self.blob_store.get(digest)
        if data is None and COORDINATOR in self.present:
            data = self._source.get(digest)
        if data is None:
            raise Unreachable("No peer has it.")
        self.blob_store.put(data)
        return data

    def mirror(self, tell: Any = None) -> Mirror:
        return Mirror(self, tell)  # type: ignore[arg-type]

    @property
    def wanted(self) -> set[bytes]:
        """What there is to copy."""
        return set(self._source.digests()) & kept_blobs(self.state)


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    source = make_home(grown_world(), tmp_path / "source")
    with Store(source.database) as store:
        yield Copy(source, Home(tmp_path / "target"), store)


async def test_what_nobody_has_is_left_out(copy: Copy) -> None:
    absent = min(copy.wanted)
    copy._source.delete(absent)
    heard: list[Progress] = []
    mirror = copy.mirror(heard.append)
    await mirror.take_once()
    assert set(copy.blob_store.digests()) == copy.wanted
    assert (copy.home.public / "checkpoint").is_file()
    assert mirror.copied == len(copy.wanted)
    assert copy.asked.count(absent) == 2
    assert copy.told[-1][1]["missing"] == len(kept_blobs(copy.state) - copy.wanted)
    assert heard
    assert all(0 < each.done <= each.total for each in heard)


async def test_a_copy_audits(copy: Copy) -> None:
    await copy.mirror().take_once()
    report = audit_home(copy.home, AuditOptions(sample=1))
    assert [check for check in report.checks if check.ok is False] == []


@pytest.mark.parametrize("left", [[], [OTHER]], ids=["all peers", "the coordinator"])
async def test_peers_that_go_away_make_it_fail(copy: Copy, left: list[bytes]) -> None:
    copy.absences = {2: left}
    with pytest.raises(Unreachable, match=r"went away while it was copied; \d+ of its files"):
        await copy.mirror().take_once()
    assert not (copy.home.public / "checkpoint").exists()
    copy.present, copy.absences = [COORDINATOR], {}
    again = copy.mirror()
    before = len(set(copy.blob_store.digests()))
    await again.take_once()
    assert set(copy.blob_store.digests()) == copy.wanted
    assert again.copied == len(copy.wanted) - before, "what came before the peers went was kept"


async def test_a_moment_of_absence_costs_nothing(copy: Copy) -> None:
    copy.absences = {2: [], 9: [COORDINATOR]}
    await copy.mirror().take_once()
    assert set(copy.blob_store.digests()) == copy.wanted


async def test_without_a_coordinator_from_the_beginning(copy: Copy) -> None:
    copy.present = [OTHER]
    await copy.mirror().take_once()
    assert set(copy.asked) == kept_blobs(copy.state)


async def test_a_damaged_tile_is_written_again(copy: Copy) -> None:
    await copy.mirror().take_once()
    tile = next(file for file in (copy.home.public / "tile").rglob("*") if file.is_file())
    data = tile.read_bytes()
    tile.write_bytes(data[:-1])
    copy.mirror()
    assert tile.read_bytes() == data


async def test_a_damaged_blob_is_fetched_again(copy: Copy) -> None:
    await copy.mirror().take_once()
    digest = min(copy.wanted)
    copy.blob_store.path(digest).write_bytes(b"damaged")
    await copy.mirror().take_once()
    assert copy.blob_store.get(digest) is not None


async def test_a_run_is_followed(copy: Copy, autojump_clock: trio.testing.MockClock) -> None:
    """Heads are shown as they are cosigned; what was absent is asked for again, what is here is not."""
    late = min(copy.wanted)
    data = copy._source.get(late)
    assert data is not None
    copy._source.delete(late)
    mirror = copy.mirror()
    newest = await copy.cosigned()
    with Store(copy.home.directory / "heads.db") as store:
        copy.store, published = store, copy.store
        mirror._publisher._store = published  # the log is there, heads come one by one
        async with trio.open_nursery() as nursery:
            nursery.start_soon(mirror.run)
            await trio.sleep(1)
            assert not (copy.home.public / "checkpoint").exists(), "no head is cosigned yet"
            assert set(copy.blob_store.digests()) == copy.wanted
            store.put_head(newest)
            copy.cosigned_size = newest.size
            await trio.sleep(AGAIN_S + LOOK_S)
            assert (copy.home.public / "checkpoint").read_bytes() == newest.note
            assert mirror.status().shown == newest.size
            (queue,) = mirror.queues
            assert queue.length == mirror.status().missing > 0
            assert queue.since_unix_s is not None
            assert not copy.blob_store.has(late)
            copy._source.put(data)
            await trio.sleep(10 * AGAIN_S)
            assert copy.blob_store.has(late)
            asked = len(copy.asked)
            await trio.sleep(AGAIN_S)
            assert len(copy.asked) - asked <= len(kept_blobs(copy.state) - copy.wanted), "only what is absent"
            mirror.drain()
    assert [event for event, _ in copy.told if event == "copied"] == ["copied"]


@pytest.mark.parametrize("role", ["coordinator", "verifier", "root"])
def test_where_others_live_nothing_is_copied(role: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    check_home(home)
    home.key(role).parent.mkdir()
    home.key(role).write_text("key")
    with pytest.raises(AuditInputError, match=f"a {role}'s key lies here"):
        check_home(home)


@pytest.mark.parametrize("place", ["public", "public/tile", "public/tile/0/000", "public.partial", "public.partial/x"])
def test_through_links_nothing_is_copied(place: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "copy" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditInputError, match=f"{place}: this is a link or no regular file"):
        check_home(Home(tmp_path / "copy"))
