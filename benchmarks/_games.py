"""What the game benchmarks share: arguments, output, and self-play jobs of a size and network."""

import argparse
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from native.network import Kernel, Network
from native.pool import Done, Job, Pool
from native.rules import Rules
from native.search import Player, SearchConfig

SELF_PLAY = SearchConfig(
    visits_full=100,
    visits_fast=100,
    full_share_ppm=250_000,
    root_fpu_reduction_micro=0,
    noise_weight_ppm=250_000,
    noise_alpha_micro=10_830_000,
    root_temperature_micro=1_100_000,
    score_utility_micro=100_000,
    temperature_start_micro=750_000,
    temperature_end_micro=150_000,
    temperature_halflife=14,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a board size and a first network `b{blocks}c{channels}`, or uniform evaluation."""

    size: int
    blocks: int
    channels: int

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.size}x{self.size} " + (f"b{self.blocks}c{self.channels}" if self.blocks else "uniform")

    def network(self) -> Network | None:
        """Its network."""
        return Network.load(Network.first(bytes(32), self.blocks, self.channels)) if self.blocks else None

    def jobs(self, player: Player) -> Callable[[int], Job]:
        """Self-play games by counter."""
        rules = Rules(self.size, self.size, 15, pass_alive=True, settled_end=True, move_cap=3 * self.size * self.size)
        return lambda i: Job(i, i, rules, SELF_PLAY, bytes(32), i.to_bytes(32, "little"), player, player)


SUBJECTS = (Subject(7, 0, 0), Subject(7, 4, 32), Subject(9, 4, 32), Subject(9, 6, 96))


def play_for(seconds: float, threads: int, job_of: Callable[[int], Job], kernel: Kernel) -> tuple[float, list[Done]]:
    """Plays games for about `seconds`, at least one a thread; gives the time until the last one ended, and all."""
    dones: list[Done] = []
    with Pool(threads, kernel) as pool:
        started = time.perf_counter()
        given = 0
        while given < threads or pool.pending or time.perf_counter() - started < seconds:
            while pool.pending < threads and (given < threads or time.perf_counter() - started < seconds):
                pool.play(job_of(given))
                given += 1
            done = pool.wait(600)
            if done is None or not done.is_ok:
                raise SystemExit(f"A game did not end well: {done.sentence if done else 'no answer'}")
            dones.append(done)
        return time.perf_counter() - started, dones


def arguments(description: str | None) -> argparse.Namespace:
    """--quick, --json and --kernel."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="a second or two in all")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--kernel", type=Kernel.parse, default=Kernel.BEST, help="best, scalar, ...")
    return parser.parse_args()


def show(rows: Iterable[dict[str, str | float]], as_json: bool) -> None:
    """Prints rows with the same keys as a table, or all of them as one JSON object."""
    table = list(rows)
    if as_json:
        print(json.dumps({"rows": table}))
        return
    texts = [
        list(table[0]),
        *([f"{x:,.2f}" if isinstance(x, float) else str(x) for x in row.values()] for row in table),
    ]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for text in texts:
        print("  ".join(cell.rjust(width) for cell, width in zip(text, widths, strict=True)))
