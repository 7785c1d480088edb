"""What a folder shows of a run: a node's store, a public folder, a copy; and what is no data."""

import shutil
from pathlib import Path

import pytest

from node.disk.home import Home, HomeError
from node.disk.store import Store
from node.training.admitted import NoAdmittedData, load_admitted
from tests.node.homes import grown_world, make_home, ticket_of
from tests.verification.world import World


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


def test_every_kind_of_folder_shows_the_same(home: Home, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(home.public, copy / "public")
    for folder in (home.directory, home.public, copy):
        found = load_admitted(folder)
        released = grown_world().state.batches.released
        assert [batch.digest for batch in found.state.batches.released] == [batch.digest for batch in released]
        assert all(found.blobs.has(batch.header.blob_digest) for batch in released)


def test_nothing_is_here(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(NoAdmittedData, match="neither a node's directory nor a copy of a run"):
            load_admitted(folder)
    with Store(tmp_path / "node.db"):
        pass
    with pytest.raises(HomeError, match="no run is here"):
        load_admitted(tmp_path)


def test_a_log_without_a_released_batch(tmp_path: Path) -> None:
    home = make_home(World(), tmp_path / "young")
    with pytest.raises(NoAdmittedData, match="no released batch yet"):
        load_admitted(home.directory)
    empty = Home(tmp_path / "empty")
    empty.store_ticket(ticket_of(grown_world()))
    with Store(empty.database):
        pass
    with pytest.raises(NoAdmittedData, match="no released batch yet"):
        load_admitted(empty.directory)


def test_a_public_folder_that_was_changed(home: Home, tmp_path: Path) -> None:
    shutil.copytree(home.public, tmp_path / "copy")
    tile = next((tmp_path / "copy" / "tile").rglob("entries/**/*.p/*"), None)
    tile = tile or next(path for path in (tmp_path / "copy" / "tile").rglob("*") if path.is_file())
    data = bytearray(tile.read_bytes())
    data[-1] ^= 1
    tile.write_bytes(data)
    with pytest.raises(NoAdmittedData, match="its log cannot be believed: "):
        load_admitted(tmp_path / "copy")
