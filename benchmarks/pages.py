"""How fast the pages of a long run are: `python -m benchmarks.pages [--quick] [--json] [--entries N]`.

First each page with 100,000 batches (`--quick`: 20,000) by a thousand contributors, a verdict on each, 200 releases and as
many refused candidates in its file: found, made into HTML, and through the application, in this process; the slowest of
the rounds is told too, for a visitor meets it. Then what it takes to fill such a file from a log of real records, of 20,000
entries (`--quick`: 2,000; N).
"""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import trio

from benchmarks._long_log import long_run
from benchmarks._run import Row, Summary, arguments, show_all
from node.disk.home import Home
from node.disk.store import Head, Store
from node.web.model.feeder import Feeder
from node.web.model.schema import NAME, open_to_write, writing
from node.web.model.sums import BatchRow, SumChanges
from protocol.ticket import Ticket
from tests.node.web.pages import visiting

LONG, QUICK = 100_000, 20_000
FED_LONG, FED_QUICK = 20_000, 2_000
PEOPLE = 1_000
RELEASES = 200
ROUNDS = 20
RUN = bytes(range(32))
FIRST_UNIX_S = 1_700_000_000
SECONDS_A_BATCH = 20
ENTRIES_A_BATCH = 4


def fill(db: sqlite3.Connection, batches: int) -> None:
    """A made-up run of so many batches."""
    rng = Random(1)
    people = [rng.randbytes(32) for _ in range(PEOPLE)]
    size = batches * ENTRIES_A_BATCH
    sums = SumChanges()
    with writing(db):
        last = FIRST_UNIX_S + batches * SECONDS_A_BATCH
        db.execute(
            "INSERT INTO run VALUES (?, 'long', ?, ?, ?, ?, 'rows', 10, 10, 1)", (RUN, size, RUN, last, FIRST_UNIX_S)
        )
        for number in range(batches):
            unix_s = FIRST_UNIX_S + number * SECONDS_A_BATCH
            fate = rng.choices(("verified", "rejected"), (98, 2))[0] if number < batches - 200 else "pending"
            release = number * RELEASES // batches
            row = BatchRow(number * ENTRIES_A_BATCH, rng.choice(people), release, unix_s, 16, 1200, 120_000, fate)
            sums.add(row)
            db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            outcome = "reject" if fate == "rejected" else "accept"
            verdict = (row.number + 2, people[0], "batch", row.number, 2, outcome, "", 0, 0, "", unix_s + 5, 2, 5)
            db.execute(f"INSERT INTO verdicts VALUES ({', '.join('?' * 13)})", verdict)
        sums.write(db)
        db.execute(
            "INSERT INTO verdict_hours SELECT unix_s / 3600, verifier, count(*), sum(drawn), sum(outcome = 'reject'),"
            " count(*), sum(delay_s) FROM verdicts GROUP BY 1, 2"
        )
        db.execute("INSERT INTO roles VALUES (?, 0, 'verifier', 'verifier-0', NULL)", (people[0],))
        query = "SELECT key, max(number), max(unix_s) / 3600 FROM batches GROUP BY key"
        newest = {key: last for key, *last in db.execute(query)}
        for number, key in enumerate(people):
            values = (
                key,
                number,
                f"name-{number}",
                "good",
                "",
                None,
                3,
                3,
                rng.randrange(10**6),
                10**8,
                2,
                90,
                50_000,
                b"",
                *newest.get(key, (None, None)),
            )
            db.execute(f"INSERT INTO contributors VALUES ({', '.join('?' * len(values))})", values)
        for row in trained(rng):
            db.execute(f"INSERT INTO gates VALUES ({', '.join('?' * 20)})", row)
        parent = b""
        for number in range(RELEASES):
            name = number.to_bytes(32, "big")
            entry = number * size // RELEASES
            values = (
                number,
                name,
                f"long-b6c96-s{number}",
                parent,
                name,
                10**6,
                "b6c96",
                1,
                1,
                1,
                entry,
                FIRST_UNIX_S,
                0,
                0,
                None,
            )
            db.execute(f"INSERT INTO releases VALUES ({', '.join('?' * len(values))})", values)
            parent = name


def trained(rng: Random) -> Iterator[tuple[object, ...]]:
    """A candidate that passed and one that was refused for each release but the first."""
    for number in range(2, 2 * RELEASES):
        release = number // 2 if number % 2 else None
        state = "refused" if release is None else "passed"
        elo = 10.0 * number + rng.random()
        shape = (number, number, RUN, "b6c96", number, number, number, number // 2, "sprt", 0, 35)
        yield (*shape, 400, "10,80,200,90,20", 2_950_000, state, number, release, FIRST_UNIX_S + number, elo, 20.0)


async def page_rows(home: Home, paths: dict[str, str]) -> list[Row]:
    """Each page's time."""
    rows: list[Row] = []
    async with visiting(home) as visitor:
        for name, path in paths.items():
            seconds = []
            for number in range(ROUNDS):
                visitor.headers["X-Round"] = str(number)
                started = time.perf_counter()
                answer = await visitor.get(path)
                seconds.append(time.perf_counter() - started)
                if answer.status_code != 200:
                    raise SystemExit(f"{path} answered {answer.status_code}.")
                await trio.sleep(0.06)  # or the bucket of this address is empty
            kilobytes = len(answer.content) / 1000
            rows.append(
                {
                    "page": name,
                    "ms": 1000 * Summary.of(seconds).median,
                    "slowest ms": 1000 * max(seconds),
                    "kB": kilobytes,
                }
            )
    return rows


def feed(entries: int, folder: Path) -> list[Row]:
    """What a log costs to take in."""
    home = Home(folder / "fed")
    with Store(home.database) as store:
        world = long_run(entries, store.append)
        size = world.state.size
        home.store_ticket(Ticket(world.run, bytes(32), ()))
        store.put_head(Head(size, world.state.tree.root(), world.note()))
    feeder = Feeder(home)
    started = time.perf_counter()
    while feeder.step():
        pass
    seconds = time.perf_counter() - started
    if feeder.size != size:
        raise SystemExit(f"The file has {feeder.size} entries of {size}.")
    feeder.close()
    return [{"entries": size, "seconds": seconds, "entries/s": size / seconds}]


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__, entries="so many for the second table")
    batches = QUICK if given.quick else LONG
    with TemporaryDirectory(prefix="gonode-pages-") as name:
        folder = Path(name)
        home = Home(folder / "shown")
        home.store_ticket(Ticket(RUN, bytes(32), ()))
        Store(home.database).close()
        db = open_to_write(home.directory / NAME, RUN)
        fill(db, batches)
        busiest = db.execute("SELECT key FROM sums_by_key ORDER BY verified_batches DESC LIMIT 1").fetchone()[0].hex()
        newest = (RELEASES - 1).to_bytes(32, "big").hex()
        db.close()
        paths = {
            "run": "/",
            "releases": "/releases",
            "release": f"/releases/{newest}",
            "contributors": "/contributors",
            "contributors of a week": "/contributors?window=week",
            "contributors by name": "/contributors?q=name-99",
            "contributor": f"/contributors/{busiest}",
            "verification": "/verification",
            "bans": "/bans",
            "network": "/network",
        }
        shown = trio.run(page_rows, home, paths)
        tables = {
            f"{batches:,} batches": shown,
            "the log taken in": feed(given.entries or (FED_QUICK if given.quick else FED_LONG), folder),
        }
    show_all(tables, given.json)


if __name__ == "__main__":
    main()
