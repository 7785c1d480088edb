"""Memory of many games in flight, b6c96 on 9x9, 100 visits: `python -m benchmarks.memory [--quick] [--json]`.

Each row is a fresh process: its largest resident set, Python and the engine's code included, after playing for a while.
Games of a small network fill caches, trees and records many times faster, so they show what a long run comes to.
"""

import multiprocessing
import resource
import sys
from pathlib import Path

from benchmarks._games import VISITS, first_network, nine_by_nine
from benchmarks._run import Row, arguments, show
from native.network import Kernel
from node.machine.playing import play_for, self_play_games

SIZE = 9
IN_FLIGHT = 256
STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """The largest resident set of this process so far, in 10^6 bytes."""
    if STATUS.is_file():  # ru_maxrss counts what the parent had before this program began
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(small: bool, threads: int, kernel: Kernel, seconds: float) -> Row:
    """One row, in a process of its own."""
    before = peak_mb()
    network, name = (first_network(1, 16), "b1c16 first (not trained)") if small else nine_by_nine()
    job_of = self_play_games(network, SIZE, VISITS)
    played = play_for(kernel, threads, IN_FLIGHT // threads, job_of, seconds)
    return {
        "network": name,
        "threads": threads,
        "games in flight": IN_FLIGHT,
        "evaluations": played.evaluations,
        "whole games": played.games,
        "MB before": before,
        "MB": peak_mb(),
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    seconds = 8.0 if given.quick else 60.0
    rows: list[Row] = []
    for small, threads in ((False, 1), (False, 2), (True, 1), (True, 2)):
        with multiprocessing.get_context("spawn").Pool(1) as process:
            rows.append(process.apply(measure, (small, threads, given.kernel, seconds)))
    show(rows, given.json)


if __name__ == "__main__":
    main()
