"""The index has the games of the batches that are here, however log and blobs came; what is bad harms nothing."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from node.disk.home import Home
from node.disk.store import Store
from node.web.games import indexer as indexing
from node.web.games.blobs import Content, Missing, NoGames, read_batch
from node.web.games.folder import BlobFolders
from node.web.games.indexer import Indexer
from node.web.games.schema import NAME, PLACE_BITS, put_beside
from node.web.model import schema as pages
from node.web.model.feeder import Feeder
from protocol.batch import encode_batch
from protocol.blob import blob_digest
from protocol.compress import compress
from protocol.layout import blob_path
from protocol.merkle import leaf_hash, root_of
from tests.node.reports.small_run import small_run, timed_home
from tests.node.web.games.rows import dump
from tests.node.web.pages import fill, index
from tests.verification.world import World


@pytest.fixture(scope="module")
def world() -> World:
    """A run with releases, a refused candidate and a ban; look only."""
    return small_run()


@pytest.fixture(scope="module")
def whole(world: World, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Its coordinator's directory, all taken in; look only."""
    home = timed_home(world, tmp_path_factory.mktemp("whole") / "coordinator")
    fill(home)
    return home


@pytest.fixture
def home(whole: Home, tmp_path: Path) -> Home:
    """A copy of it whose games are not taken in."""
    copy = Home(tmp_path / "node")
    shutil.copytree(whole.directory, copy.directory, ignore=shutil.ignore_patterns("games.db*"))
    return copy


@pytest.fixture
def growing(home: Home) -> Iterator[Indexer]:
    """The index of that copy."""
    found = Indexer(home)
    yield found
    found.close()


def finish(indexer: Indexer) -> None:
    """Takes in all there is."""
    while indexer.step():
        pass


def blobs_of(world: World) -> dict[int, bytes]:
    """The blob of each entry with games."""
    found = {each.index: each.header.blob_digest for each in world.state.batches.all if each.header.games}
    return found | {each.index: each.result.blob_digest for each in world.state.gates.results}


def test_every_game_of_the_log_is_there(whole: Home, world: World) -> None:
    rows = dump(whole.directory / NAME)
    names = {row[0]: row[1] for row in rows["games"]}
    expected = {}
    for batch in world.state.batches.all:
        for number, leaf in enumerate(world.content(batch).leaves):
            expected[batch.index << PLACE_BITS | number] = leaf_hash(leaf)
    gates = set(blobs_of(world)) - {each.index for each in world.state.batches.all}
    assert {place: name for place, name in names.items() if place >> PLACE_BITS not in gates} == expected
    assert {place >> PLACE_BITS for place in names} == set(blobs_of(world))
    assert all(row[4] == "" for row in rows["taken"])


@pytest.mark.parametrize("seed", range(3))
def test_grown_is_made_anew(seed: int, home: Home, whole: Home, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(indexing, "FOLDERS_AT_ONCE", 20)
    rng, blobs = Random(seed), sorted(set(blobs_of(world).values()))
    kept = {digest: (home.public / blob_path(digest)).read_bytes() for digest in blobs}
    log = sqlite3.connect(home.directory / pages.NAME)
    log.execute("ATTACH ? AS whole", (str(whole.directory / pages.NAME),))
    entries = sorted(blobs_of(world))
    with log:
        log.execute("DELETE FROM contents")
    indexer = Indexer(home)
    for _ in range(120):
        digest = rng.choice(blobs)
        path = home.public / blob_path(digest)
        act = rng.randrange(5)
        if act == 0:
            path.unlink(missing_ok=True)
        elif act == 1:
            path.write_bytes(kept[digest])
        elif act == 2 and entries:
            with log:
                log.execute("INSERT INTO contents SELECT * FROM whole.contents WHERE entry = ?", (entries.pop(0),))
        elif act == 3 and rng.random() < 0.2:
            indexer.close()
            indexer = Indexer(home)
        else:
            indexer.step()
    finish(indexer)
    indexer.close()
    found = dump(home.directory / NAME)
    (home.directory / NAME).unlink()
    index(home)
    assert dump(home.directory / NAME) == found
    here = {row[0] for row in log.execute("SELECT entry, blob FROM contents") if kept_here(home, row[1])}
    assert {row[0] for row in found["taken"]} == here
    log.close()


def kept_here(home: Home, digest: bytes) -> bool:
    """Whether the blob is there."""
    return (home.public / blob_path(digest)).is_file()


def test_blobs_that_come_and_go(growing: Indexer, home: Home, whole: Home, world: World) -> None:
    finish(growing)
    assert dump(home.directory / NAME) == dump(whole.directory / NAME)
    entry, digest = max(blobs_of(world).items())
    path = home.public / blob_path(digest)
    data = path.read_bytes()
    path.unlink()
    finish(growing)
    assert entry not in {row[0] for row in dump(home.directory / NAME)["taken"]}
    path.write_bytes(data[:-1])
    finish(growing)
    ((_, _, _, games, fault),) = [row for row in dump(home.directory / NAME)["taken"] if row[0] == entry]
    assert (games, fault) == (0, "damaged")
    path.unlink()
    path.write_bytes(data)
    finish(growing)
    assert dump(home.directory / NAME) == dump(whole.directory / NAME)


@pytest.mark.parametrize("spoilt", ["deleted", "damaged", "another run's"])
def test_a_spoilt_file_is_made_anew(home: Home, whole: Home, spoilt: str) -> None:
    path = home.directory / NAME
    indexer = Indexer(home)
    finish(indexer)
    if spoilt == "another run's":
        indexer.close()
        with sqlite3.connect(path) as db:
            db.execute("UPDATE run SET id = ?", (bytes(32),))
            db.execute("UPDATE games SET size = 3")
        db.close()
        indexer = Indexer(home)
    else:
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        if spoilt == "damaged":
            path.write_bytes(b"no database at all" * 1000)
    finish(indexer)
    indexer.close()
    assert dump(path) == dump(whole.directory / NAME)


@pytest.mark.parametrize("is_served", [False, True])
@pytest.mark.parametrize("start", [0, 3 * 4096])
def test_a_file_that_is_damaged_in_its_place_is_made_anew(home: Home, whole: Home, start: int, is_served: bool) -> None:
    path = home.directory / NAME
    index(home)
    indexer = Indexer(home) if is_served else None
    if indexer is not None:
        finish(indexer)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(bytes(path.stat().st_size - start))
    with suppress(sqlite3.DatabaseError), pages.reading(home.directory / pages.NAME) as db:
        put_beside(db, path)
        db.execute("SELECT max(length(hash)), sum(offset) FROM here.games NOT INDEXED").fetchone()
    indexer = indexer or Indexer(home)
    finish(indexer)
    indexer.close()
    assert dump(path) == dump(whole.directory / NAME)


def test_another_log_is_taken_in_anew(home: Home, whole: Home) -> None:
    index(home)
    path = home.directory / NAME
    with sqlite3.connect(path) as db:
        db.execute("UPDATE taken SET root = ? WHERE entry = (SELECT max(entry) FROM taken)", (bytes(32),))
    db.close()
    index(home)
    assert dump(path) == dump(whole.directory / NAME)


def test_while_the_pages_are_made_anew(growing: Indexer, home: Home, whole: Home) -> None:
    finish(growing)
    (home.directory / pages.NAME).unlink()
    finish(growing)
    feeder = Feeder(home)
    finish(growing)
    while feeder.step():
        growing.step()
    finish(growing)
    feeder.close()
    assert dump(home.directory / NAME) == dump(whole.directory / NAME)


def test_of_too_many_games_the_oldest_are_left_out(home: Home, whole: Home) -> None:
    rows = dump(whole.directory / NAME)
    most, largest = len(rows["games"]) // 2, max(row[3] for row in rows["taken"])  # type: ignore[type-var]
    for _ in range(2):
        indexer = Indexer(home, most)
        finish(indexer)
        indexer.close()
        found = dump(home.directory / NAME)
        assert found["games"] == rows["games"][-len(found["games"]) :]
        assert most - largest < len(found["games"]) <= most  # type: ignore[operator]


def content_of(games: int, raw: bytes, root: bytes, blob: bytes | None = None) -> tuple[Content, bytes]:
    """What a header says that signs these bytes, and the blob."""
    data = compress(raw) if blob is None else blob
    return Content(7, blob_digest(data), len(data), len(raw), root, 0, games), data


def test_bad_blobs_are_refused_in_a_sentence(world: World, tmp_path: Path) -> None:
    batch = world.content(world.state.batches.all[0])
    raw, root = batch.encode(), root_of(batch.leaves)
    first = batch.games[0].header.counter
    for content, data, words in (
        (*content_of(1, b"", root), "cut short"),
        (*content_of(99, raw, root), "games; 99 are signed"),
        (*content_of(len(batch.games), raw, bytes(32)), "do not hash to the root"),
        (*content_of(len(batch.games), raw[:-1], root), "cut short"),
        (*content_of(len(batch.games), raw, root, b"no zstd frame"), "not a zstd frame"),
        (*content_of(1, encode_batch([]), root), "has 0 games"),
        (*content_of(len(batch.games), raw + b"x", root), "follow"),
    ):
        path = tmp_path / blob_path(content.blob)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        with pytest.raises(NoGames, match=words):
            read_batch(tmp_path, replace(content, first_counter=first))
    with pytest.raises(Missing):
        read_batch(tmp_path, replace(content, blob=bytes(32)))


def test_any_bytes_for_a_batch_are_refused_or_read(world: World, tmp_path: Path) -> None:
    batch, rng = world.content(world.state.batches.all[0]), Random(4)
    raw, root = batch.encode(), root_of(batch.leaves)
    for _ in range(60):
        data = bytearray(raw)
        for _ in range(rng.choice((1, 1, 8))):
            data[rng.randrange(rng.choice((40, len(data))))] = rng.randrange(256)
        content, blob = content_of(len(batch.games), bytes(data), root)
        path = tmp_path / blob_path(content.blob)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob)
        if bytes(data) != raw:
            with pytest.raises(NoGames):
                read_batch(tmp_path, replace(content, first_counter=batch.games[0].header.counter))


def test_folders_are_looked_at_again_when_they_change(tmp_path: Path) -> None:
    folders = BlobFolders(tmp_path)
    assert len(folders.changed(300)) == 256
    assert folders.changed(300) == []
    digest = bytes([3]) * 32
    path = tmp_path / blob_path(digest)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x")
    path.with_name("other").write_bytes(b"x")
    assert folders.changed(300) == [(3, frozenset([digest]))]
    assert folders.has(digest)
    path.unlink()
    assert folders.changed(300) == [(3, frozenset())]


def test_nothing_is_written_to_store_or_folder(home: Home) -> None:
    before = {path: path.stat().st_mtime_ns for path in home.public.rglob("*")}
    index(home)
    assert {path: path.stat().st_mtime_ns for path in home.public.rglob("*")} == before
    with Store(home.database) as store:
        assert store.log_size > 0
