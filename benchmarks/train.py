"""How fast the float network trains on this machine: `python -m benchmarks.train [--quick] [--json]`.

For each network, board, minibatch and number of threads: samples a second of whole steps (forward, losses, backward,
optimiser) on rows of games played with uniform evaluation, as the median of the steps.
"""

import argparse
import dataclasses
import os
import time

import numpy as np

from benchmarks._games import Subject, play_for
from benchmarks._run import Summary, show
from native.network import Kernel
from native.packed import pack_game
from native.search import Player
from node.founding.manifest_file import load_manifest
from protocol.manifest import Manifest
from trainer.data.draws import Sampler
from trainer.data.minibatch import collate
from trainer.data.rows import Window
from trainer.learning.learner import Learner
from trainer.pin import pin

CASES = ((7, 3, 32, 64), (7, 4, 32, 64), (7, 4, 32, 128), (9, 4, 64, 128), (9, 6, 96, 128))
QUICK_CASES = ((7, 3, 32, 64), (7, 4, 32, 128))


def rows_of(size: int, seconds: float) -> Window:
    """A window of games on a board of this size."""
    job_of = Subject(size, 0, 0).jobs(Player(None, bytes(32)))
    dones = play_for(seconds, job_of, Kernel.BEST)
    return Window.of(pack_game(job_of(0).rules, done.block) for done in dones)


def measure(
    base: Manifest, case: tuple[int, int, int, int], threads: int, window: Window, seconds: float
) -> dict[str, str | float]:
    """One row: steps of one setting for about so long."""
    size, blocks, channels, minibatch = case
    manifest = dataclasses.replace(
        base,
        network=dataclasses.replace(base.network, blocks=blocks, channels=channels),
        training=dataclasses.replace(base.training, minibatch=minibatch),
    )
    pin(threads)
    learner = Learner(manifest, bytes(32))
    sampler = Sampler(bytes(32), window.numbers(held_out=False), minibatch)
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < until:
        started = time.perf_counter()
        learner.step(collate(window, *sampler.minibatch(len(times))), 0)
        times.append(time.perf_counter() - started)
    return {
        "network": f"b{blocks}c{channels}",
        "board": size,
        "minibatch": minibatch,
        "threads": threads,
        "ms/step": float(np.median(times)) * 1e3,
        "samples/s": minibatch / float(np.median(times)),
        "spread": Summary.of(times).spread,
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds in all")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    given = parser.parse_args()
    cases, seconds = (QUICK_CASES, 1.0) if given.quick else (CASES, 4.0)
    base = load_manifest(None)
    windows = {size: rows_of(size, 0.5) for size in {case[0] for case in cases}}
    threads = (1,) if given.quick else tuple(sorted({1, os.cpu_count() or 1}))
    rows = [measure(base, case, count, windows[case[0]], seconds) for case in cases for count in threads]
    show(rows, given.json)


if __name__ == "__main__":
    main()
