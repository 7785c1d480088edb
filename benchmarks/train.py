"""How fast the float network trains on this machine: `python -m benchmarks.train [--quick] [--json]`.

For each network, boards, minibatch and number of threads: samples a second of whole steps (rows drawn, turned and laid out,
forward, losses, backward, optimiser) on rows of games played with uniform evaluation, as the median of the steps; with one
thread a processor second. Then which operations a step of one network consists of.
"""

import argparse
import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks._games import Subject, play_for
from benchmarks._processes import steps_of
from benchmarks._run import Summary, rounds, show_all
from native.netfile import Architecture
from native.network import Kernel
from native.packed import pack_game
from native.search import Player
from node.founding.manifest_file import load_manifest
from trainer.data.draws import Sampler
from trainer.data.feeder import Feeder
from trainer.data.rows import Window
from trainer.learning.group import ALONE, Group
from trainer.learning.learner import Learner
from trainer.pin import pin

SMALL, MIDDLE, LARGE = Architecture(4, 32), Architecture(4, 64), Architecture(6, 96)
CASES = (
    *(((size,), shape, 256) for size in (7, 9) for shape in (SMALL, MIDDLE, LARGE)),
    ((7, 9), MIDDLE, 256),
)
QUICK_CASES = (((7,), SMALL, 128), ((9,), MIDDLE, 128))
TIMES_OF = ((9,), MIDDLE, 256)
KINDS = {
    "convolutions": ("convolution",),
    "norms": ("batch_norm",),
    "rectifiers": ("threshold", "relu", "clamp_min"),
    "multiplications of matrices": ("mm", "addmm", "bmm"),
}
"""Kinds of operations by what their names contain; all others are sums, copies, and what python takes between them."""

Case = tuple[tuple[int, ...], Architecture, int]
Row = dict[str, str | float]


def games_of(size: int, seconds: float) -> list[bytes]:
    """Packed games on a board of this size, played for so long."""
    job_of = Subject(size, 0, 0).jobs(Player(None, bytes(32)))
    return [pack_game(job_of(0).rules, done.block) for done in play_for(seconds, job_of, Kernel.BEST)]


def rows_of(size: int, seconds: float) -> Window:
    """A window of games on a board of this size."""
    return Window.of(games_of(size, seconds))


@contextmanager
def training(case: Case, window: Window, group: Group = ALONE) -> Iterator[tuple[Learner, Feeder]]:
    """A learner of the default run with a network and a minibatch, and what feeds it, in this process."""
    _, shape, minibatch = case
    manifest = load_manifest(None)
    manifest = dataclasses.replace(manifest, training=dataclasses.replace(manifest.training, minibatch=minibatch))
    sampler = Sampler(bytes(32), window.numbers(held_out=False), minibatch, (group.rank, group.size))
    with Feeder(window, sampler, 0) as feeder:
        yield Learner(manifest, bytes(32), group, shape=shape), feeder


def measure(case: Case, threads: int, window: Window, seconds: float) -> Row:
    """One row: steps of one setting for about so long."""
    sizes, shape, minibatch = case
    pin(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    times: list[float] = []
    until = time.perf_counter() + seconds
    with training(case, window) as (learner, feeder):
        learner.step(feeder.minibatch(0), 0)
        while len(times) < 5 or time.perf_counter() < until:
            started = clock()
            learner.step(feeder.minibatch(1 + len(times)), 0)
            times.append(clock() - started)
    steps = Summary.of(times)
    return {
        "network": shape.encode(),
        "boards": "+".join(map(str, sizes)),
        "minibatch": minibatch,
        "threads": threads,
        "ms/step": steps.median * 1e3,
        "samples/s": minibatch / steps.median,
        "spread": steps.spread,
    }


def together(case: Case, games: list[bytes], processes: int, seconds: float) -> Row:
    """One row: steps by the clock of one process and of several, one thread each, by turns; and how many times as fast
    the several would be if their processors did nothing else and no message took time."""
    sizes, shape, minibatch = case
    work = partial(steps_of, partial(training, case), games, seconds=seconds)
    one, several = rounds((partial(work, 1), partial(work, processes)), 0.0)
    gains = Summary.of(a.clock / b.clock for a, b in zip(one, several, strict=True))
    bounds = Summary.of(a.processor / b.processor for a, b in zip(one, several, strict=True))
    return {
        "network": shape.encode(),
        "boards": "+".join(map(str, sizes)),
        "minibatch": minibatch,
        "samples/s by 1": minibatch / Summary.of(steps.clock for steps in one).median,
        f"samples/s by {processes}": minibatch / Summary.of(steps.clock for steps in several).median,
        "times": gains.median,
        "at most": bounds.median,
        "spread": gains.spread,
    }


def kinds_of(case: Case, window: Window, steps: int) -> list[Row]:
    """Where the time of a step goes, by kinds of operations, on one thread."""
    pin(1)
    with training(case, window) as (learner, feeder):
        for step in range(2):
            learner.step(feeder.minibatch(step), 0)
        with profile(activities=[ProfilerActivity.CPU]) as found:
            for step in range(steps):
                learner.step(feeder.minibatch(2 + step), 0)
    spent = dict.fromkeys((*KINDS, "all else"), 0.0)
    for event in found.key_averages():
        name = event.key.removeprefix("aten::")
        is_leaf = event.key.startswith("aten::")
        kind = next((kind for kind, parts in KINDS.items() if is_leaf and any(part in name for part in parts)), None)
        spent[kind or "all else"] += event.self_cpu_time_total
    return [{"operations": kind, "share": time_us / sum(spent.values())} for kind, time_us in spent.items()]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less than 45 seconds, for a first impression")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--processes", type=int, help="so many, with a thread each, against one; and nothing else")
    given = parser.parse_args()
    cases, seconds = (QUICK_CASES, 2.0) if given.quick else (CASES, 6.0)
    games = {size: games_of(size, 0.5) for size in (7, 9)}
    if given.processes is not None:
        chosen = [[game for size in case[0] for game in games[size]] for case in cases]
        both = [together(case, games, given.processes, seconds) for case, games in zip(cases, chosen, strict=True)]
        show_all({f"{given.processes} processes of one thread": both}, given.json)
        return
    windows = {sizes: Window.of([game for size in sizes for game in games[size]]) for sizes, _, _ in (*cases, TIMES_OF)}
    threads = (1,) if given.quick else tuple(sorted({1, os.cpu_count() or 1}))
    rows = [measure(case, count, windows[case[0]], seconds) for case in cases for count in threads]
    kinds = kinds_of(TIMES_OF, windows[TIMES_OF[0]], 3 if given.quick else 10)
    show_all({"rows": rows, f"a step of {MIDDLE.encode()} at 9x9, torch {torch.__version__}": kinds}, given.json)


if __name__ == "__main__":
    main()
