"""The list of games: each set of filters gives what a look at every game gives, page after page, from its index alone."""

import random
import sqlite3
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from benchmarks._many_games import GAMES_A_BATCH, fill_games
from node.disk.home import Home
from node.web.games import schema as games_file
from node.web.games.schema import INDEXED, put_beside
from node.web.model.schema import NAME, open_to_write, reading, writing
from node.web.queries import games as asked
from node.web.queries.games import FILTERS, GameLine, games, here, showcase
from node.web.queries.records import PAGE, BadQuestion, NotFound
from tests.node.web.pages import visiting, words
from tests.verification.world import World

RUN = bytes(32)
NOW = 1_700_000_000
PEOPLE, BATCHES, RELEASES = 4, 90, 3


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A made-up run; the third contributor goes on under the first one's key."""
    folder = tmp_path_factory.mktemp("games")
    rng, made = random.Random(3), open_to_write(folder / NAME, RUN)
    keys = [rng.randbytes(32) for _ in range(PEOPLE)]

    def put(table: str, **values: object) -> None:
        found = made.execute('SELECT name, type, "notnull" FROM pragma_table_info(?)', (table,)).fetchall()
        empty = {name: {"INTEGER": 0, "TEXT": "", "BLOB": b""}[kind] if must else None for name, kind, must in found}
        row = {**empty, **values}
        made.execute(f"INSERT INTO {table} VALUES ({', '.join(f':{name}' for name in row)})", row)

    with writing(made):
        put("run", id=RUN, name="lists", size=10_000, unix_s=NOW)
        for number, key in enumerate(keys):
            put("contributors", key=key, number=number, name=f"n{number}", replaced_by=keys[0] if number == 2 else b"")
        for number in range(RELEASES):
            put("releases", number=number, id=number.to_bytes(32, "big"), name=f"r{number}")
        for number in range(BATCHES):
            fate, release = ("verified", "pending", "rejected")[number % 3], number % RELEASES
            put("batches", number=10 + 3 * number, key=rng.choice(keys), release=release, unix_s=NOW, fate=fate)
    fill_games(made, folder / games_file.NAME, RUN)
    with writing(made):  # what the third one had is the first one's now
        made.execute("UPDATE batches SET key = ? WHERE key = ?", (keys[0], keys[2]))
    made.close()
    with reading(folder / NAME) as found:
        put_beside(found, folder / games_file.NAME)
        yield found


def followed(db: sqlite3.Connection, query: dict[str, str]) -> list[GameLine]:
    """All games, page after page."""
    items: list[GameLine] = []
    while True:
        listed = games(db, query).games
        assert len(listed.items) <= PAGE
        items += listed.items
        if listed.before is None:
            return items
        query = {**query, "before": listed.before}


def values_of(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Some values of each filter."""
    keys = [row[0].hex() for row in db.execute("SELECT key FROM contributors WHERE replaced_by = x'' ORDER BY number")]
    return {
        "release": ["1", (2).to_bytes(32, "big").hex()],
        "key": keys[:2],
        "kind": ["training", "gate"],
        "size": ["9", "13"],
        "result": ["black", "draw"],
    }


def fits(line: GameLine, query: dict[str, str]) -> bool:
    """Whether a game is one that was asked for."""
    known: dict[str, Any] = {
        "release": (str(line.release), line.release.to_bytes(32, "big").hex()),
        "key": (line.key.hex(),),
        "kind": (line.kind,),
        "size": (str(line.size),),
        "result": ({"B": "black", "W": "white", "0": "draw"}[line.result[0]],),
    }
    return all(value in known[name] for name, value in query.items())


def test_all_of_them(db: sqlite3.Connection) -> None:
    items = followed(db, {})
    assert len(items) == BATCHES * GAMES_A_BATCH
    places = [each.place for each in items]
    assert places == sorted(set(places), reverse=True)
    assert (here(db).batches, here(db).known, here(db).unreadable) == (BATCHES, BATCHES, 0)


def test_filters_give_what_a_look_at_all_gives(db: sqlite3.Connection) -> None:
    everything, values, tried = followed(db, {}), values_of(db), 0
    columns = {"key": "signer"}
    for count in range(1, len(FILTERS) + 1):
        for names in combinations(FILTERS, count):
            is_indexed = frozenset(columns.get(name, name) for name in names) in INDEXED
            for chosen in product(*(values[name] for name in names)):
                query = dict(zip(names, chosen, strict=True))
                if not is_indexed:
                    with pytest.raises(BadQuestion, match="do not go together"):
                        games(db, query)
                    continue
                found = followed(db, query)
                assert [each.place for each in found] == [each.place for each in everything if fits(each, query)]
                tried += bool(found)
    assert tried > 20


def test_the_games_of_a_batch(db: sqlite3.Connection) -> None:
    everything = followed(db, {})
    entry = everything[100].entry
    of_it = [each for each in everything if each.entry == entry]
    assert games(db, {"batch": str(entry)}).games.items == tuple(of_it)
    nines = games(db, {"batch": str(entry), "size": "9", "kind": of_it[0].kind, "result": "black"}).games.items
    assert list(nines) == [each for each in of_it if each.size == 9 and each.result.startswith("B")]
    assert games(db, {"batch": "11"}).games.items == ()
    assert games(db, {"batch": "9" * 15}).games.items == ()
    for bad in ("x", "-1", "9" * 16):
        with pytest.raises(BadQuestion):
            games(db, {"batch": bad})


def test_nothing_is_sorted_or_looked_through(db: sqlite3.Connection) -> None:
    columns = {"release": 1, "signer": 2, "kind": 0, "size": 9, "result": 1}
    for names, index in [(frozenset[str](), ""), *INDEXED.items()]:
        where = "".join(f" AND g.{name} = {columns[name]}" for name in names)
        query = f"EXPLAIN QUERY PLAN {asked._line(index)}{where} AND g.place BETWEEN 0 AND 99 ORDER BY g.place DESC LIMIT 50"
        plan = [row[3] for row in db.execute(query)]
        assert not any("TEMP B-TREE" in line or line.startswith("SCAN") for line in plan), plan
        assert any(index in line for line in plan)


@pytest.mark.parametrize(
    "query",
    [
        {"size": "0"},
        {"size": "20"},
        {"size": "x" * 100},
        {"size": "9" * 5000},
        {"kind": "match"},
        {"result": "B+R"},
        {"before": "x"},
    ],
)
def test_what_means_nothing(db: sqlite3.Connection, query: dict[str, str]) -> None:
    with pytest.raises(BadQuestion):
        games(db, query)


def test_names_of_nobody(db: sqlite3.Connection) -> None:
    for query in ({"key": "0" * 64}, {"key": "zz"}, {"release": "f" * 64}):
        with pytest.raises(NotFound):
            games(db, query)
    assert games(db, {"release": "77"}).games.items == ()


def test_a_game_to_show_is_verified_and_close(db: sqlite3.Connection) -> None:
    shown = showcase(db, 0)
    newest = [each for each in followed(db, {"release": "0"})[:50] if each.fate == "verified"]
    assert shown in newest
    assert shown.size == max(each.size for each in newest)
    assert showcase(db, 1) is None  # of this release nothing is verified


async def test_the_page(shown: Home, shown_world: World) -> None:
    newest = shown_world.state.batches.all[-1]
    async with visiting(shown) as visitor:
        answer = (await visitor.get("/api/v1/games")).json()["answer"]
        text = words((await visitor.get("/games?kind=training")).text)
        refused = await visitor.get("/games?kind=gate&result=black")
        key = shown_world.peers["eve"].public.hex()
        eve = (await visitor.get(f"/api/v1/games?key={key[:12]}")).json()["answer"]["games"]["items"]
    known = len(shown_world.state.gates.results) + sum(each.header.games > 0 for each in shown_world.state.batches.all)
    assert answer["here"] == {"batches": known, "known": known, "unreadable": 0}
    assert answer["games"]["items"][0]["entry"] == newest.index
    assert f"The games of {known} of {known} batches in the log are here." in text
    assert "… pending" in text
    assert refused.status_code == 400
    assert "do not go together" in words(refused.text)
    assert {each["fate"] for each in eve} == {"rejected"}
    assert {each["name"] for each in eve} == {"eve"}


async def test_other_pages_lead_to_games(shown: Home, shown_world: World) -> None:
    release, peer = shown_world.state.releases.all[1], shown_world.peers["ada"].public.hex()
    async with visiting(shown) as visitor:
        found = (await visitor.get(f"/api/v1/releases/{release.id.hex()}")).json()["answer"]["showcase"]
        page = (await visitor.get(f"/releases/{release.id.hex()}")).text
        contributor = (await visitor.get(f"/contributors/{peer}")).text
        shown_game = await visitor.get(f"/games/{found['hash']}")
        entry = shown_world.state.batches.all[0].index
        of_batch = (await visitor.get(f"/api/v1/games?batch={entry}")).json()["answer"]["games"]["items"]
    assert (found["release"], found["fate"]) == (1, "verified")
    assert f'href="/games/{found["hash"]}"' in page
    assert 'href="/games?release=1"' in page
    assert f'href="/games?key={peer}"' in contributor
    assert 'href="/games?batch=' in contributor
    assert shown_game.status_code == 200
    assert [each["entry"] for each in of_batch] == [entry] * shown_world.state.batches.all[0].header.games


async def test_without_any_blob(shown: Home, tmp_path: Path) -> None:
    home = Home(tmp_path / "node")
    home.store_ticket(shown.load_ticket())
    (home.directory / NAME).write_bytes((shown.directory / NAME).read_bytes())
    async with visiting(home) as visitor:
        page = await visitor.get("/games")
    assert "The games of 0 of" in words(page.text)
