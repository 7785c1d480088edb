"""The public folder: what it shows of a whole run, what it drops, and which blobs it keeps."""

from collections.abc import Callable
from pathlib import Path

import pytest

from node.audits.folder_audit import FolderReader
from node.disk.blob_store import BlobStore
from node.disk.home import Home
from node.disk.publisher import Publisher
from node.disk.store import Head, Store
from protocol.checkpoint import SignedNote
from protocol.layout import BLOBS, CHECKPOINT
from protocol.tiles import tiles_between
from tests.node.homes import grown_world
from tests.verification.world import World
from verification.audit.audit import AuditOptions, audit


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A directory with the grown world's log and blobs, and nothing published."""
    home = Home(tmp_path)
    world = grown_world()
    with Store(home.database) as store:
        store.append(world.entries)
    blobs = BlobStore(home.public)
    for blob in world.blobs.values():
        blobs.put(blob)
    return home


def files(home: Home) -> dict[str, bytes]:
    return {
        file.relative_to(home.public).as_posix(): file.read_bytes() for file in home.public.rglob("*") if file.is_file()
    }


def publish(world: World, home: Home) -> None:
    with Store(home.database) as store:
        Publisher(world.state, store, home.public).publish(SignedNote.parse(world.note()))


def test_a_run_is_published_as_the_layout_says(home: Home) -> None:
    world = grown_world()
    publish(world, home)
    wanted = world.public()
    found = files(home)
    assert found == wanted
    report = audit(FolderReader(home.public), AuditOptions(run=world.run))
    assert report.ok, report.checks


def test_publishing_again_changes_nothing(home: Home) -> None:
    world = grown_world()
    publish(world, home)
    before = files(home)
    publish(world, home)
    assert files(home) == before


def test_a_damaged_checkpoint_makes_everything_anew(home: Home) -> None:
    world = grown_world()
    publish(world, home)
    before = files(home)
    for path in before:
        if path.startswith(("tile", "release", "root", "manifest")):
            (home.public / path).unlink()
    (home.public / CHECKPOINT).write_bytes(b"half a checkp")
    publish(world, home)
    assert files(home) == before


Damage = Callable[[Path], object]

DAMAGES: dict[str, Damage] = {
    "removed": Path.unlink,
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-1]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_torn_is_made_good_at_the_start(damage: Damage, home: Home) -> None:
    world = grown_world()
    publish(world, home)
    before = files(home)
    with Store(home.database) as store:
        for path in [path for path in before if not path.startswith(BLOBS)]:
            damage(home.public / path)
            if path == CHECKPOINT:
                Publisher(world.state, store, home.public).mend()
                assert not (home.public / path).is_file() or (home.public / path).read_bytes() != before[path]
                store.put_head(Head(world.state.size, world.state.tree.root(), world.note()))
            Publisher(world.state, store, home.public).mend()
            assert files(home) == before, path


def test_what_no_head_needs_goes_at_the_start(home: Home) -> None:
    world = grown_world()
    publish(world, home)
    before = files(home)
    for path in (
        *("tile/0/000.p/3", "tile/2/000.p/1", "tile/entries/x001/000", "tile/0/.000.new", "tile/0/005.p/7"),
        *(".checkpoint.new", "release/00009-later", "statement/00009-later/SHA256SUMS"),
    ):
        (home.public / path).parent.mkdir(parents=True, exist_ok=True)
        (home.public / path).write_bytes(b"left by a kill")
    with Store(home.database) as store:
        Publisher(world.state, store, home.public).mend()
    assert files(home) == before
    assert not [folder for folder in home.public.rglob("*.p") if not any(folder.iterdir())]


def test_a_whole_folder_is_left_as_it_is(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    world = grown_world()
    publish(world, home)
    written: list[str] = []
    monkeypatch.setattr(Publisher, "_write", lambda self, path, data, is_durable=True: written.append(path))
    with Store(home.database) as store:
        Publisher(world.state, store, home.public).mend()
        empty = Publisher(world.state, store, home.directory / "nothing")
        empty.mend()
    assert written == [CHECKPOINT]
    assert not (home.directory / "nothing").exists()


def test_tiles_that_wider_ones_replace_go(tmp_path: Path) -> None:
    world = World()
    with Store(tmp_path / "node.db") as store:
        store.append(world.entries)
        publisher = Publisher(world.state, store, tmp_path / "public")
        publisher.publish(SignedNote.parse(world.note()))
        for count in (1, 3, 251, 300):
            start = world.state.size
            world.ticks(count)
            store.append(world.entries[start:])
            publisher.publish(SignedNote.parse(world.note()))
            shown = {
                file.relative_to(tmp_path / "public").as_posix()
                for file in (tmp_path / "public" / "tile").rglob("*")
                if file.is_file()
            }
            wanted = {tile.path for tile in tiles_between(0, world.state.size)}
            assert {path for path in shown if ".p/" in path} == {path for path in wanted if ".p/" in path}
            assert wanted <= shown


def test_sweeping_keeps_what_the_log_or_the_outbox_names(home: Home) -> None:
    world = grown_world()
    blobs = BlobStore(home.public)
    named = set(blobs.digests())
    waiting, stray = blobs.put(b"named by a header that waits"), blobs.put(b"of an entry that was refused")
    with Store(home.database) as store:
        store.put_outbox("batch", b"key", b"a header with " + waiting + b" in it")
        Publisher(world.state, store, home.public).sweep()
    assert set(blobs.digests()) == named | {waiting}
    assert not blobs.has(stray)
