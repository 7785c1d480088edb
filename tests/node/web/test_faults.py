"""Faults of pages are told of once and then counted, and are never the visitor's to read."""

import sqlite3
from pathlib import Path

import pytest

from node.disk.home import Home
from node.web import faults
from node.web.faults import Faults
from node.web.model import schema
from node.web.model.feeder import Feeder
from node.web.model.schema import NAME
from tests.node.homes import grown_world, make_home
from tests.node.web.pages import fill, visiting, words
from tests.node.web.test_app import proof_name
from tests.verification.world import World

SENTENCE = "What this page is made of is damaged, or being made anew."


def test_the_first_is_told_and_then_how_many() -> None:
    said: list[str] = []
    noted = Faults(said.append)
    noted.note("It broke.", "Here.")
    noted.note("It broke.", "There.")
    noted.note("It broke.")
    noted.note("So did that.")
    assert said == ["It broke.\nHere.", "So did that."]
    noted.tell()
    noted.tell()
    assert said[2:] == ["2 times more: It broke."]
    noted.note("It broke.")
    noted.tell()
    assert said[3:] == ["1 time more: It broke."]


def test_kinds_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "MOST_KINDS", 2)
    said: list[str] = []
    noted = Faults(said.append)
    for number in range(5):
        noted.note(f"Kind {number}.", "More.")
    noted.tell()
    assert said == ["Kind 0.\nMore.", "Kind 1.\nMore.", "Other faults.", "2 times more: Other faults."]


@pytest.fixture
def filled(tmp_path: Path) -> Home:
    home = make_home(grown_world(), tmp_path / "node")
    fill(home)
    return home


def paths(world: World) -> tuple[str, ...]:
    return ("/", "/network", "/games", f"/proofs/{proof_name(world)}", f"/proofs/{proof_name(world)}/file")


def damage(path: Path) -> None:
    """Leaves the file its length and takes all but its first bytes."""
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))


async def test_a_damaged_file_is_waited_for_and_told_of_once(shown_world: World, filled: Home) -> None:
    damage(filled.directory / NAME)
    said: list[str] = []
    async with visiting(filled, said=said) as visitor:
        for _ in range(3):
            for path in paths(shown_world):
                answer = await visitor.get(path)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "5"), path
                assert SENTENCE in words(answer.text)
        answer = await visitor.get("/api/v1/releases")
        assert (answer.status_code, answer.json()["error"].startswith(SENTENCE)) == (503, True)
        assert said == ["A page waits for its file: database disk image is malformed."]
        feeder = Feeder(filled)
        while feeder.step():
            pass
        feeder.close()
        assert (await visitor.get("/")).status_code == 200


async def test_a_file_that_is_made_anew_is_waited_for(shown_world: World, filled: Home) -> None:
    path = filled.directory / NAME
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    async with visiting(filled) as visitor:
        for page in paths(shown_world):
            assert (await visitor.get(page)).status_code == 503, page
        sqlite3.connect(path).execute(
            "PRAGMA journal_mode = WAL"
        ).connection.close()  # there, and its tables are not yet
        for page in paths(shown_world):
            assert (await visitor.get(page)).status_code == 503, page


async def test_a_damaged_store_is_waited_for_too(filled: Home) -> None:
    damage(filled.database)
    said: list[str] = []
    async with visiting(filled, said=said) as visitor:
        assert [(await visitor.get("/network")).status_code for _ in range(3)] == [503] * 3
        assert (await visitor.get("/")).status_code == 200
    assert len(said) == 1


def test_readers_doubts_are_seen_by_who_writes(filled: Home) -> None:
    path = filled.directory / NAME
    damage(path)
    before = schema.doubts(filled.directory)
    with pytest.raises(sqlite3.DatabaseError), schema.reading(path) as db:
        db.execute("SELECT * FROM run").fetchall()
    assert schema.doubts(filled.directory) == before + 1
