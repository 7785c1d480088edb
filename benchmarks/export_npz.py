"""What `gonode export npz` takes: `python -m benchmarks.export_npz [--quick] [--json]`.

First rows of KataGo's a processor second, and how many times as long they take as the same games take that are only played
through. Then the largest resident set of a process by how many games it exported: the same games again and again, in files
of ROWS_A_FILE rows (`--quick`: QUICK_ROWS_A_FILE), so that the longer export writes many. In neither: reading the log and
the blobs. Games are played with uniform evaluation.
"""

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._games import Subject, play_for
from benchmarks._run import Row, Summary, arguments, rounds, show_all
from benchmarks.memory import peak_mb
from native.game import Game
from native.network import Kernel
from native.search import Player
from node.exchange.katago.export import ROWS_A_FILE, export_rows
from node.exchange.run_games import RunGame, RunGames, Wanted
from node.training.admitted import load_admitted
from protocol.game_block import GameBlock
from tests.node.homes import grown_world, make_home

SIZES = (9, 19)
QUICK_ROWS_A_FILE = 500
FEW, MANY = 1_000, 10_000
QUICK_FEW, QUICK_MANY = 100, 400


def games_of(size: int, seconds: float) -> list[RunGame]:
    """Games on a board of this size, played for so long."""
    job_of = Subject(size, 0, 0).jobs(Player(None, bytes(32)))
    with TemporaryDirectory(prefix="gonode-export-") as name:
        home = make_home(grown_world(), Path(name) / "run")
        some = next(iter(RunGames(load_admitted(home.directory), Wanted())))
    return [
        replace(some, rules=job_of(0).rules, block=GameBlock.parse(done.block))
        for done in play_for(seconds, job_of, Kernel.BEST)
    ]


def export_s(games: list[RunGame], size: int) -> tuple[float, int]:
    """Processor seconds of an export, and its rows."""
    with TemporaryDirectory(prefix="gonode-export-") as name:
        started = time.process_time()
        exported = export_rows(games, Path(name) / "rows", size)
        return time.process_time() - started, exported.rows


def replay_s(games: list[RunGame]) -> float:
    """Processor seconds of playing the games' moves."""
    started = time.process_time()
    for each in games:
        game = Game(each.rules)
        for move in each.block.moves:
            game.play(move)
    return time.process_time() - started


def speed(size: int, quick: bool) -> Row:
    """A row of the first table."""
    games = games_of(size, 0.5 if quick else 4.0)
    exports, replays = rounds((lambda: export_s(games, size)[0], lambda: replay_s(games)), 4.0 if quick else 60.0)
    seconds = Summary.of(exports)
    rows = export_s(games, size)[1]
    return {
        "board": f"{size}x{size}",
        "games": len(games),
        "rows": rows,
        "rows/cpu s": rows / seconds.median,
        "spread": seconds.spread,
        "times a replay": seconds.median / Summary.of(replays).median,
    }


def memory(size: int, count: int, rows_a_file: int) -> Row:
    """A row of the second table, in a process of its own."""
    games = games_of(size, 0.5)
    before = peak_mb()
    endless: Iterator[RunGame] = cycle(games)
    with TemporaryDirectory(prefix="gonode-export-") as name:
        exported = export_rows(islice(endless, count), Path(name) / "rows", size, rows_a_file)
    return {
        "games": count,
        "rows": exported.rows,
        "files": len(exported.files),
        "MB before": before,
        "MB": peak_mb(),
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    few, many, most = (QUICK_FEW, QUICK_MANY, QUICK_ROWS_A_FILE) if given.quick else (FEW, MANY, ROWS_A_FILE)
    kept: list[Row] = []
    for count in (few, many):
        with multiprocessing.get_context("spawn").Pool(1) as process:
            kept.append(process.apply(memory, (SIZES[0], count, most)))
    show_all({"speed": [speed(size, given.quick) for size in SIZES], "memory, 9x9": kept}, given.json)


if __name__ == "__main__":
    main()
