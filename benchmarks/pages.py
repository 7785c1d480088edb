"""How fast the pages of a long run are: `python -m benchmarks.pages [--quick] [--json] [--entries N]`.

First each page with 100,000 batches (`--quick`: 20,000) of 16 games by a thousand contributors, a verdict of one of five
verifiers on each, 200 releases and as many refused candidates, and 500 bans in its files: found, made into HTML, compressed,
and through the application, in this process. Told are the median of the rounds and the slowest, for a visitor meets that
one, and whether both are below TARGET_MS. A proof is searched anew in the first round of its page and is known after that.
Then what it takes to fill such a file from a log of real records, of 20,000 entries (`--quick`: 2,000; N).
"""

import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import trio

from benchmarks._long_log import long_run
from benchmarks._many_batches import FIRST_UNIX_S, RELEASES, fill
from benchmarks._many_games import GAMES_A_BATCH, fill_games
from benchmarks._run import Row, Summary, arguments, show_all
from benchmarks.proof import wrong_game
from node.disk.home import Home
from node.disk.store import Head, Store
from node.web.games import schema as games
from node.web.model.events import proof_id
from node.web.model.feeder import Feeder
from node.web.model.schema import NAME, open_to_write
from protocol.layout import CHECKPOINT
from protocol.ticket import Ticket
from tests.node.web.pages import visiting
from tests.verification.manifests import small_manifest
from tests.verification.world import World

TARGET_MS = 100
LONG, QUICK = 100_000, 20_000
FED_LONG, FED_QUICK = 20_000, 2_000
ROUNDS, QUICK_ROUNDS = 20, 6
PAUSE_S = 0.06
"""Between questions, or the bucket of this address is empty."""


def paths_of(db: sqlite3.Connection, proof: bytes) -> dict[str, str]:
    """What is asked for: a page of each kind, and lists from their middle on."""
    busiest = db.execute("SELECT key FROM sums_by_key ORDER BY verified_batches DESC LIMIT 1").fetchone()[0].hex()
    (entries,) = db.execute("SELECT size FROM run").fetchone()
    newest = (RELEASES - 1).to_bytes(32, "big").hex()
    return {
        "run": "/",
        "run by time, zoomed": f"/?x=time&from={FIRST_UNIX_S + 100}&to={FIRST_UNIX_S + 200}",
        "run as JSON": "/api/v1",
        "releases": "/releases",
        "releases, later": f"/releases?before={RELEASES // 2}",
        "release": f"/releases/{newest}",
        "contributors": "/contributors",
        "contributors, later": "/contributors?before=500000-500",
        "contributors of a week": "/contributors?window=week",
        "of a week, later": "/contributors?window=week&before=10000-500",
        "contributors by name": "/contributors?q=name-99",
        "contributor": f"/contributors/{busiest}",
        "contributor, later": f"/contributors/{busiest}?before={entries // 2}",
        "games": "/games",
        "games, later": f"/games?before={entries // 2 << games.PLACE_BITS}",
        "draws of a release": f"/games?release={RELEASES // 2}&result=draw",
        "games of a contributor": f"/games?key={busiest}",
        "games as JSON": "/api/v1/games?size=13",
        "whole days": "/dumps",
        "verification": "/verification",
        "verification, later": f"/verification?before={entries // 2}",
        "bans": "/bans",
        "proof": f"/proofs/{proof_id(proof).hex()}",
        "network": "/network",
        "audit": "/audit",
    }


async def page_rows(home: Home, paths: Mapping[str, str], rounds: int) -> list[Row]:
    """Each page's time."""
    rows: list[Row] = []
    async with visiting(home) as visitor:
        for name, path in paths.items():
            seconds = []
            for _ in range(rounds):
                started = time.perf_counter()
                answer = await visitor.get(path)
                seconds.append(time.perf_counter() - started)
                if answer.status_code != 200:
                    raise SystemExit(f"{path} answered {answer.status_code}.")
                await trio.sleep(PAUSE_S)
            slowest_ms = 1000 * max(seconds)
            rows.append(
                {
                    "page": name,
                    "ms": 1000 * Summary.of(seconds).median,
                    "slowest ms": slowest_ms,
                    "kB": len(answer.content) / 1000,
                    f"< {TARGET_MS} ms": "yes" if slowest_ms < TARGET_MS else "NO",
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
    batches, rounds = (QUICK, QUICK_ROUNDS) if given.quick else (LONG, ROUNDS)
    world = World(small_manifest())
    proof = wrong_game(world)
    with TemporaryDirectory(prefix="gonode-pages-") as name:
        folder = Path(name)
        home = Home(folder / "shown")
        home.store_ticket(Ticket(world.run, bytes(32), ()))
        Store(home.database).close()
        home.public.mkdir(parents=True)
        (home.public / CHECKPOINT).write_bytes(world.note())
        db = open_to_write(home.directory / NAME, world.run)
        fill(db, world.run, proof, batches)
        fill_games(db, home.directory / games.NAME, world.run)
        paths = paths_of(db, proof)
        db.close()
        shown = trio.run(page_rows, home, paths, rounds)
        tables = {
            f"{batches:,} batches of {GAMES_A_BATCH} games": shown,
            "the log taken in": feed(given.entries or (FED_QUICK if given.quick else FED_LONG), folder),
        }
    show_all(tables, given.json)


if __name__ == "__main__":
    main()
