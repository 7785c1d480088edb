"""A node's store is taken into the pages' file: what a kept head covers, further at the next start, anew where needed."""

import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from node.disk.home import Home, HomeError
from node.disk.store import Head, Store, StoreError
from node.following.heads import LogRefused
from node.reports.clock import AHEAD_S
from node.web.model import feeder as feeding
from node.web.model.events import MOST_DELAY_S
from node.web.model.feeder import Feeder
from node.web.model.schema import NAME, empty, reading
from protocol.checkpoint import Checkpoint, cosign
from protocol.seeds import log_origin
from tests.node.homes import grown_world, make_home, ticket_of
from tests.node.reports.small_run import ENTRIES_A_HEAD, FIRST_UNIX_S, SECONDS_AN_ENTRY, small_run, timed_home
from tests.node.web.model.dumps import dump
from tests.verification.world import World
from verification.witness import witness_name


@pytest.fixture(scope="module")
def world() -> World:
    """A run with releases, a refused candidate and a ban; look only."""
    return small_run()


@pytest.fixture
def home(world: World, tmp_path: Path) -> Home:
    """Its coordinator's directory, with a head each ten entries."""
    return timed_home(world, tmp_path / "coordinator")


def unseen(world: World) -> bytes:
    """The newest head, signed by nobody but the coordinator."""
    head = Checkpoint(log_origin(world.run), world.state.size, world.state.tree.root())
    return head.sign(world.coordinator).encode()


def fill(feeder: Feeder) -> None:
    """Takes in all there is."""
    while feeder.step():
        pass


def fed(home: Home) -> dict[str, list[tuple[object, ...]]]:
    """What the file holds once all is taken in."""
    feeder = Feeder(home)
    fill(feeder)
    feeder.close()
    with sqlite3.connect(home.directory / NAME) as db:
        found = dump(db)
    db.close()
    return found


def test_up_to_the_newest_head_that_witnesses_saw(home: Home, world: World) -> None:
    db = sqlite3.connect(home.database)
    with db:
        db.execute("UPDATE heads SET note = ? WHERE size = ?", (unseen(world), world.state.size))
    db.close()
    found = fed(home)
    ((run, name, size, root, unix_s, first, *_),) = found["run"]
    assert (run, name) == (world.run, world.manifest.name)
    assert size == world.state.size // ENTRIES_A_HEAD * ENTRIES_A_HEAD
    assert root == world.state.tree.root(size)
    assert (first, unix_s) == (FIRST_UNIX_S + SECONDS_AN_ENTRY * 10, FIRST_UNIX_S + SECONDS_AN_ENTRY * size)
    assert all(row[0] < size for row in found["batches"])


def cosigned(world: World, size: int, times: Sequence[int], root: bytes | None = None) -> Head:
    """A head that the first verifiers cosigned, one for each time."""
    head = Checkpoint(log_origin(world.run), size, root or world.state.tree.root(size))
    lines = [
        cosign(head.body(), key, witness_name(key.public), at) for key, at in zip(world.verifiers, times, strict=False)
    ]
    return Head(size, head.root_hash, head.sign(world.coordinator).with_signatures(lines).encode())


def alone(world: World, directory: Path, heads: Sequence[Head]) -> Home:
    """A directory with the log and these heads."""
    home = Home(directory)
    home.store_ticket(ticket_of(world))
    with Store(home.database) as store:
        store.append(world.entries)
        for head in heads:
            store.put_head(head)
    return home


def test_a_head_that_too_few_cosigned_is_not_shown(tmp_path: Path) -> None:
    world = grown_world()
    size = world.state.size
    head = Checkpoint(log_origin(world.run), size, world.state.tree.root())
    foreign = cosign(head.body(), world.root_key, witness_name(world.root_key.public), FIRST_UNIX_S)
    note = head.sign(world.coordinator).with_signatures([foreign])
    home = alone(world, tmp_path / "alone", [Head(size, head.root_hash, note.encode())])
    assert fed(home)["run"] == []
    with sqlite3.connect(home.database) as db:
        db.execute("DELETE FROM heads")
    db.close()
    with Store(home.database) as store:
        store.put_head(cosigned(world, size, [FIRST_UNIX_S]))
    found = fed(home)
    assert found["run"][0][2] == size
    assert {row[3] for row in found["batches"]} == {FIRST_UNIX_S}


def test_no_witness_can_say_that_it_is_far_in_the_future(tmp_path: Path) -> None:
    world, latest = grown_world(), 2**63 - 1
    size = world.state.size
    heads = [cosigned(world, each, [0]) for each in range(2, size)]
    found = fed(alone(world, tmp_path / "all", [*heads, cosigned(world, size, [latest])]))
    assert abs(found["run"][0][4] - time.time()) < 2 * AHEAD_S
    assert max(row[12] or 0 for row in found["verdicts"]) <= MOST_DELAY_S


def test_heads_of_another_history_stop_nothing(home: Home, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fed(home)
    (home.directory / NAME).unlink()
    with Store(home.database) as store:
        for size in (15, 25, world.state.size, world.state.size + 7):
            store.put_head(cosigned(world, size, [], bytes([size % 256]) * 32))
        store.put_head(cosigned(world, world.state.size + 9, [FIRST_UNIX_S], bytes(32)))  # its entries are not here
    monkeypatch.setattr(feeding, "AT_ONCE", 15)
    assert fed(home) == whole


def test_a_smaller_head_takes_nothing_away(home: Home) -> None:
    whole = fed(home)
    with sqlite3.connect(home.database) as db:
        db.execute("DELETE FROM heads WHERE size > 50")
    db.close()
    assert fed(home) == whole


def test_it_goes_on_where_it_was(home: Home, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fed(home)
    (home.directory / NAME).unlink()
    monkeypatch.setattr(feeding, "AT_ONCE", 20)
    for _ in range(6):  # six starts, each of which takes in a little
        feeder = Feeder(home)
        before = feeder.size
        while feeder.is_remembering:
            feeder.step()
        feeder.step()
        assert feeder.size > before
        feeder.close()
    with reading(home.directory / NAME) as db:
        assert db.execute("SELECT size FROM run").fetchone()[0] == feeder.size < world.state.size
    assert fed(home) == whole


def test_a_log_that_is_another_is_taken_in_anew(home: Home, world: World, tmp_path: Path) -> None:
    whole = fed(home)
    db = sqlite3.connect(home.directory / NAME)
    with db:
        db.execute("UPDATE run SET root = ?", (bytes(32),))
        db.execute("UPDATE contributors SET credit_plies = 10")
    db.close()
    assert fed(home) == whole
    other = make_home(grown_world(), tmp_path / "other")
    shutil.copy(home.directory / NAME, other.directory / NAME)
    assert fed(other)["run"][0][0] == grown_world().run
    (home.directory / NAME).write_bytes(b"no database at all" * 100)
    assert fed(home) == whole


def test_a_shorter_log_is_taken_in_anew(home: Home) -> None:
    whole = fed(home)
    size = whole["run"][0][2]
    with sqlite3.connect(home.database) as db:
        db.execute("DELETE FROM heads WHERE size > 50")
        db.execute("DELETE FROM log WHERE number >= 50")
    db.close()
    found = fed(home)
    assert found["run"][0][2] == 50 < size


def test_what_does_not_lead_to_the_head_is_refused(home: Home) -> None:
    with sqlite3.connect(home.database) as db:
        db.execute("UPDATE heads SET root = ?", (bytes(32),))
    db.close()
    feeder = Feeder(home)
    with pytest.raises(StoreError, match="does not lead to the head"):
        fill(feeder)
    assert feeder.size == 0
    feeder.close()


def test_an_entry_that_the_rules_refuse(home: Home) -> None:
    with sqlite3.connect(home.database) as db:
        db.execute("UPDATE log SET entry = (SELECT entry FROM log WHERE number = 1) WHERE number = 7")
    db.close()
    feeder = Feeder(home)
    with pytest.raises(LogRefused, match="an entry at 7"):
        fill(feeder)
    feeder.close()


def test_where_no_node_was(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="no run is here"):
        Feeder(Home(tmp_path))
    home = Home(tmp_path / "new")
    home.store_ticket(ticket_of(grown_world()))
    with pytest.raises(HomeError, match="no copy of the log"):
        Feeder(home)


def test_a_file_that_is_deleted_or_replaced_meanwhile_is_made_anew(home: Home, tmp_path: Path) -> None:
    whole = fed(home)
    path, other = home.directory / NAME, tmp_path / "other"
    other.write_bytes(b"no database at all" * 1000)
    feeder = Feeder(home)
    for spoil in (Path.unlink, other.replace):
        fill(feeder)
        spoil(path)
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        fill(feeder)
        with reading(path) as db:
            assert db.execute("SELECT size FROM run").fetchone()[0] == whole["run"][0][2]
    feeder.close()


@pytest.mark.parametrize("is_served", [False, True])
@pytest.mark.parametrize("start", [0, 3 * 4096])
def test_a_file_that_is_damaged_in_its_place_is_made_anew(home: Home, start: int, is_served: bool) -> None:
    whole = fed(home)
    path = home.directory / NAME
    feeder = Feeder(home) if is_served else None
    if feeder is not None:
        fill(feeder)
    with path.open("r+b") as file:
        file.truncate(start)
    with pytest.raises(sqlite3.DatabaseError), reading(path) as db:
        db.execute("SELECT max(batches.key), max(verdicts.reason) FROM batches, verdicts").fetchone()
    feeder = feeder or Feeder(home)
    fill(feeder)
    feeder.close()
    assert fed(home) == whole


def test_a_damaged_store_is_not_taken_for_a_damaged_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    feeder = Feeder(home)

    def fails(*_: object) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(feeder, "_target", fails)
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        feeder.step()
    feeder.close()


def test_nothing_is_written_to_the_store(home: Home) -> None:
    before = home.database.read_bytes()
    fed(home)
    assert home.database.read_bytes() == before
    home.database.chmod(0o400)
    for end in ("-wal", "-shm"):
        Path(f"{home.database}{end}").unlink(missing_ok=True)
    (home.directory / NAME).unlink()
    fed(home)


def test_readers_have_a_deadline_and_cannot_write(home: Home) -> None:
    fed(home)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    with reading(home.directory / NAME, 0.05) as db, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute(endless).fetchone()
    with reading(home.directory / NAME) as db, pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM batches")


def test_an_emptied_file_has_no_rows(home: Home) -> None:
    fed(home)
    db = sqlite3.connect(home.directory / NAME, isolation_level=None)
    empty(db)
    assert not any(dump(db).values())
    db.close()


@pytest.mark.parametrize(("version", "is_read"), [(1, True), (0, False), (99, False)])
def test_a_store_of_an_older_format_is_read_as_it_is(version: int, is_read: bool, home: Home) -> None:
    before = fed(home)
    (home.directory / NAME).unlink()
    db = sqlite3.connect(home.database)
    db.executescript(f"DROP TABLE leaves; DROP TABLE bans; PRAGMA user_version = {version};")
    db.close()
    if is_read:
        assert fed(home) == before
    else:
        with pytest.raises(StoreError, match=f"format {version}; this gonode reads formats up to"):
            fed(home)
