"""How fast the exact network evaluates on one core: `python -m benchmarks.net [--quick] [--json]`.

For each kernel, network, board and batch: evaluations a second, billions of multiply-adds a second (gmac/s), and their
ratio to the same kernel's multiply in registers alone, measured just before. The best of several short runs counts, so
that a busy machine disturbs little. Networks are first networks, boards random planes.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from native.game import FEATURE_PLANES
from native.netfile import Architecture
from native.network import Evaluator, Kernel, Network

CASES = (
    ("b4c32", 7, (1, 8)),
    ("b4c64", 9, (1, 8)),
    ("b6c96", 9, (1, 8)),
    ("b6c96", 19, (1, 8)),
)
QUICK_CASES = (("b4c32", 7, (1,)), ("b6c96", 9, (1, 8)))


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement."""

    kernel: str
    network: str
    board: int
    batch: int
    evaluations_s: float
    gmac_s: float
    peak_gmac_s: float

    @property
    def ratio(self) -> float:
        """Share of the peak."""
        return self.gmac_s / self.peak_gmac_s


def best_seconds(work: Callable[[], object], budget_s: float) -> float:
    """The shortest time of one call of `work`, over calls that take about `budget_s` together."""
    best = float("inf")
    end = time.perf_counter() + budget_s
    while (start := time.perf_counter()) < end:
        work()
        best = min(best, time.perf_counter() - start)
    return best


def peak_gmac_s(kernel: Kernel, budget_s: float) -> float:
    """Billions of multiply-adds a second of the kernel's multiply in registers."""
    steps = 100_000
    return kernel.peak(steps) / best_seconds(lambda: kernel.peak(steps), budget_s) / 1e9


def measure(kernel: Kernel, name: str, board: int, batch: int, budget_s: float) -> Row:
    """One row; each call evaluates at least 8 positions, so that Python's share stays small."""
    shape = Architecture.parse(name)
    network = Network.load(Network.first(bytes(32), shape.blocks, shape.channels))
    planes = bytes(random.Random(1).choices((0, 64), (4, 1), k=FEATURE_PLANES * board * board * batch))
    evaluator = Evaluator(network, kernel)
    calls = max(1, 8 // batch)

    def work() -> None:
        for _ in range(calls):
            evaluator.run_raw(board, board, planes)

    peak = peak_gmac_s(kernel, budget_s / 4)
    evaluations_s = calls * batch / best_seconds(work, budget_s)
    gmac_s = evaluations_s * network.macs(board, board) / 1e9
    return Row(kernel.encode(), name, board, batch, round(evaluations_s, 1), round(gmac_s, 2), round(peak, 2))


def rows(quick: bool) -> Iterator[Row]:
    """All measurements, fastest kernel first."""
    for kernel in reversed(Kernel.available()):
        for name, board, batches in QUICK_CASES if quick else CASES:
            for batch in batches:
                yield measure(kernel, name, board, batch, 0.2 if quick else 1.0)


def main() -> None:
    """Prints a table, or one JSON object a line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.net", description="speed of the exact network")
    parser.add_argument("--quick", action="store_true", help="fewer cases, a few seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if not options.json:
        print("kernel  network  board  batch  evaluations/s   gmac/s  of peak")
    for row in rows(options.quick):
        if options.json:
            print(json.dumps({**asdict(row), "ratio": round(row.ratio, 3)}), flush=True)
        else:
            print(
                f"{row.kernel:<7} {row.network:<8} {row.board:>2}x{row.board:<3} {row.batch:>5}"
                f"  {row.evaluations_s:>13,.0f}  {row.gmac_s:>7.1f}  {row.ratio:>6.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
