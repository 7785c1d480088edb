"""Files of whole days: made once, when the day is over, of the games that are here, within a bound; the rest is told."""

import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
import zstandard

from node.disk.home import Home
from node.exchange.sgf_reader import parse_collection
from node.web.day_maker import DayMaker
from node.web.games.days import DAY_S, DayFile, DayFiles, day_of, name_of
from node.web.model.schema import NAME
from protocol.layout import blob_path
from tests.node.web.pages import index, visiting, words
from tests.verification.world import World

NEWEST = 1_700_000_000 // DAY_S


@pytest.fixture
def home(shown: Home, tmp_path: Path) -> Home:
    """A copy of the shown directory, as if it had run for three days."""
    copy = Home(tmp_path / "node")
    shutil.copytree(shown.directory, copy.directory)
    db = sqlite3.connect(copy.directory / NAME)
    with db:
        db.execute("UPDATE contents SET unix_s = (? - 2 + entry * 3 / (SELECT size FROM run)) * ?", (NEWEST, DAY_S))
        db.execute("UPDATE run SET unix_s = ? * ? + 100", (NEWEST, DAY_S))
    db.close()
    return copy


def make(home: Home, most_bytes: int = 10**9) -> None:
    """Makes what there is to make."""
    maker = DayMaker(home, most_bytes)
    while maker.step():
        pass
    maker.close()


def texts(path: Path) -> bytes:
    """What is in a day's file."""
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as opened:
        return opened.read()


def test_the_games_of_days_that_are_over(home: Home, shown_world: World) -> None:
    files = DayFiles(home.directory)
    make(home)
    assert [day for day, _ in files.made()] == [NEWEST - 1, NEWEST - 2]
    assert files.find(NEWEST) is None
    db = sqlite3.connect(home.directory / NAME)
    for day, found in files.made():
        query = "SELECT count(*), sum(games) FROM contents WHERE unix_s / ? = ?"
        known, games = db.execute(query, (DAY_S, day)).fetchone()
        assert (found.batches, found.known, found.games) == (known, known, games)
        data = files.path(day).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (found.bytes, found.sha256)
        trees = parse_collection(texts(files.path(day)))
        assert len(trees) == games
        assert all(tree.record().moves for tree in trees)
    db.close()
    assert sorted(path.name for path in files.folder.iterdir()) == [
        f"{name_of(day)}.{end}" for day in (NEWEST - 2, NEWEST - 1) for end in ("json", "sgf.zst")
    ]


def test_a_file_is_made_once_and_says_what_is_missing(home: Home) -> None:
    db = sqlite3.connect(home.directory / NAME)
    (digest,) = db.execute("SELECT blob FROM contents ORDER BY entry LIMIT 1").fetchone()
    db.close()
    path = home.public / blob_path(digest)
    data = path.read_bytes()
    path.unlink()
    index(home)
    make(home)
    files = DayFiles(home.directory)
    found = files.find(NEWEST - 2)
    assert found is not None
    assert found.batches == found.known - 1
    path.write_bytes(data)
    index(home)
    make(home)
    assert files.find(NEWEST - 2) == found
    for spoil in (
        lambda: files.path(NEWEST - 2).unlink(),
        lambda: (files.folder / f"{name_of(NEWEST - 2)}.json").write_text("["),
    ):
        spoil()
        assert files.find(NEWEST - 2) is None
        make(home)
        again = files.find(NEWEST - 2)
        assert again is not None
        assert again.batches == again.known == found.known


def test_the_oldest_give_way(home: Home) -> None:
    make(home)
    files = DayFiles(home.directory)
    newer, older = (each for _, each in files.made())
    shutil.rmtree(files.folder)
    for _ in range(2):
        make(home, newer.bytes + older.bytes - 1)
        kept = {day: each.is_kept for day, each in files.made()}
        assert kept == {NEWEST - 1: True, NEWEST - 2: False}
        assert not files.path(NEWEST - 2).exists()
    shutil.rmtree(files.folder)
    make(home, newer.bytes - 1)
    assert [each.is_kept for _, each in files.made()] == [False]
    assert [path.suffix for path in files.folder.iterdir()] == [".json"]


def test_what_is_half_made_is_no_file(home: Home) -> None:
    maker = DayMaker(home)
    assert maker.step()
    assert maker.step()
    files = DayFiles(home.directory)
    assert list(files.made()) == []
    maker.close()
    assert list(files.folder.iterdir()) == []
    make(home)
    assert len(list(files.made())) == 2


async def test_the_page_and_the_files(home: Home) -> None:
    files = DayFiles(home.directory)
    async with visiting(home) as visitor:
        before = words((await visitor.get("/dumps")).text)
        make(home)
        found = (await visitor.get("/api/v1/dumps")).json()["answer"]["items"]
        text = words((await visitor.get("/dumps")).text)
        made = found[1]
        answer = await visitor.get(f"/dumps/{made['file']}")
        again = await visitor.get(f"/dumps/{made['file']}", headers={"If-None-Match": answer.headers["etag"]})
        absent = [
            await visitor.get(f"/dumps/{name}")
            for name in (f"{name_of(NEWEST)}.sgf.zst", "2023-99-99.sgf.zst", "..%2Fticket", f"{made['day']}.json")
        ]
    assert before.count("not made yet") == 2
    assert [each["state"] for each in found] == ["grows", "made", "made"]
    assert made["sha256"] in text
    assert "the day is not over" in text
    assert sha256(answer.content).hexdigest() == made["sha256"]
    assert answer.headers["content-type"] == "application/zstd"
    assert "content-encoding" not in answer.headers
    assert again.status_code == 304
    assert [each.status_code for each in absent] == [404] * 4
    assert files.path(NEWEST - 1).name == made["file"]


def test_names_of_days() -> None:
    assert name_of(0) == "1970-01-01"
    assert day_of(name_of(19_675)) == 19_675
    for name in ("1969-12-31", "2023-02-30", "2023-1-1", "x", "2023-02-01x", "٢٠٢٣-01-01"):
        assert day_of(name) is None
    with pytest.raises(ValueError, match="digest"):
        DayFile(1, 1, 1, 1, "x", True)
    with pytest.raises(ValueError, match="number"):
        DayFile(-1, 1, 1, 1, "0" * 64, True)
