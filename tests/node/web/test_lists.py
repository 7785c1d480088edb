"""Long lists: page after page shows each item once, in order, also where many are equal; and names that begin alike."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from node.web.model.schema import NAME, open_to_write, reading, writing
from node.web.model.sums import BatchRow, SumChanges
from node.web.queries.bans import bans
from node.web.queries.contributors import BEGINS_SO, contributor, contributors
from node.web.queries.records import PAGE, Listed, NotFound, whole_name
from node.web.queries.releases import releases
from node.web.queries.verification import verification

RUN = bytes(32)
NOW = 1_700_000_000
PEOPLE, BATCHES = 130, 400


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """A made-up run with more of everything than a page holds; many have the same credit."""
    path = tmp_path_factory.mktemp("lists") / NAME
    fill(path)
    with reading(path) as found:
        yield found


def fill(path: Path) -> None:
    rng, sums = random.Random(3), SumChanges()
    keys = [rng.randbytes(32) for _ in range(PEOPLE)]
    made = open_to_write(path, RUN)

    def put(table: str, *values: object) -> None:
        made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    with writing(made):
        put("run", RUN, "lists", 10_000, RUN, NOW, NOW - 10**6, "rows", 0, 0, 1)
        for number, key in enumerate(keys):
            standing = "replaced" if number % 10 == 9 else "good"
            person = (
                key,
                number,
                f"name-{number}",
                standing,
                "",
                None,
                1,
                1,
                number % 4,
                0,
                0,
                0,
                None,
                b"",
                None,
                None,
                "",
            )
            put("contributors", *person)
        for number in range(BATCHES):
            fate = ("verified", "pending", "rejected")[number % 3]
            hours_ago = rng.randrange(300)
            row = BatchRow(
                10 * number, keys[number % 7 * 3], number % 60, NOW - 3600 * hours_ago, 1, rng.randrange(3), 1, fate
            )
            sums.add(row)
            put("batches", *row)
            put("verdicts", 10 * number + 1, keys[0], "batch", row.number, 1, "reject", "", 0, 0, "why", NOW, 1, None)
            proof = number.to_bytes(32, "big")
            put(
                "convictions",
                10 * number + 2,
                proof,
                "ban",
                row.key,
                "contributor",
                "ply",
                row.number,
                0,
                "why",
                NOW,
                b"",
            )
        for number in range(120):
            name = bytes([7]) * 4 + number.to_bytes(28, "big")
            put("releases", number, name, f"release-{number}", b"", b"", 0, "b1c16", 0, 0, 0, number, NOW, 0, 0, None)
        sums.write(made)
    made.close()


def followed(ask: Callable[[str | None], Listed[Any]]) -> list[Any]:
    """All items, page after page."""
    items: list[Any] = []
    before: str | None = None
    while True:
        listed = ask(before)
        assert len(listed.items) <= PAGE
        items += listed.items
        if listed.before is None:
            return items
        assert listed.items
        before = listed.before


@pytest.mark.parametrize("window", ["all", "week", "day"])
def test_contributors(db: sqlite3.Connection, window: str) -> None:
    items = followed(lambda before: contributors(db, window, before=before))
    if window == "all":
        assert len(items) == PEOPLE - PEOPLE // 10
    ranks = [(-each.credit_plies, each.number) for each in items]
    assert ranks == sorted(set(ranks))
    assert [each.rank for each in items] == list(range(1, len(items) + 1))
    assert all(each.standing != "replaced" for each in items)
    found = followed(lambda before: contributors(db, window, "NAME-1", before))
    assert [each.key for each in found] == [each.key for each in items if each.name.startswith("name-1")]


def test_a_window_is_the_last_hours(db: sqlite3.Connection) -> None:
    hours = {"day": 24, "week": 168}
    for window, most in hours.items():
        oldest = (NOW // 3600 - most + 1) * 3600
        for each in followed(lambda before, window=window: contributors(db, window, before=before)):  # type: ignore[misc]
            query = "SELECT sum(plies * (fate = 'pending')), count(*) FROM batches WHERE key = ? AND unix_s >= ?"
            assert (each.pending_plies, each.games) == tuple(db.execute(query, (each.key, oldest)).fetchone())


def test_a_name_is_looked_up_in_an_index(db: sqlite3.Connection) -> None:
    found = followed(lambda before: contributors(db, search="NAME-1", before=before))
    assert {each.name for each in found} == {
        f"name-{number}" for number in range(PEOPLE) if str(number).startswith("1") and number % 10 != 9
    }
    values = {"first_name": "a", "last_name": "b", "first_key": b"", "last_key": b""}
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {BEGINS_SO}", values)]
    assert any("contributors_by_name" in line for line in plan)
    assert not any(line.startswith("SCAN contributors") for line in plan)


def test_batches_of_one(db: sqlite3.Connection) -> None:
    key = db.execute("SELECT key FROM batches LIMIT 1").fetchone()[0]
    items = followed(lambda before: contributor(db, key, before).batches)
    numbers = [row[0] for row in db.execute("SELECT number FROM batches WHERE key = ? ORDER BY number DESC", (key,))]
    assert [each.entry for each in items] == numbers
    assert len(numbers) > PAGE
    assert all(each.verdict_entry == each.entry + 1 for each in items)


def test_other_lists(db: sqlite3.Connection) -> None:
    down = list(range(BATCHES))[::-1]
    assert [each.entry for each in followed(lambda before: verification(db, before).rejections)] == [
        10 * n + 1 for n in down
    ]
    assert [each.entry for each in followed(lambda before: bans(db, before))] == [10 * n + 2 for n in down]
    assert [each.number for each in followed(lambda before: releases(db, before))] == list(range(120))[::-1]


def test_names_that_begin_alike(db: sqlite3.Connection) -> None:
    whole = bytes([7]) * 4 + (5).to_bytes(28, "big")
    assert whole_name(db, "releases", "id", whole.hex()) == whole
    with pytest.raises(NotFound, match="more digits are needed"):
        whole_name(db, "releases", "id", whole.hex()[:8])
    with pytest.raises(NotFound, match="begins with ffffffff"):
        whole_name(db, "releases", "id", "f" * 8)
