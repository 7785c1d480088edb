"""How fast the exact network evaluates on one core: `python -m benchmarks.net [--quick] [--json]`.

For each kernel, network, board and batch: evaluations a second, billions of multiply-adds a second (gmac/s), and their
ratio to the same kernel's multiply in registers alone, measured just before. The best of several short runs counts, so
that a busy machine disturbs little. Networks are first networks, boards random planes.
"""

import random
import time
from collections.abc import Callable

from benchmarks._games import arguments, show
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
PEAK_STEPS = 100_000


def best_seconds(work: Callable[[], object], budget_s: float) -> float:
    """The shortest time of one call of `work`, over calls that take about `budget_s` together."""
    best = float("inf")
    end = time.perf_counter() + budget_s
    while (start := time.perf_counter()) < end:
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure(kernel: Kernel, name: str, board: int, batch: int, budget_s: float) -> dict[str, str | float]:
    """One row; each call evaluates at least 8 positions, so that Python's share stays small."""
    shape = Architecture.parse(name)
    network = Network.load(Network.first(bytes(32), shape.blocks, shape.channels))
    planes = bytes(random.Random(1).choices((0, 64), (4, 1), k=FEATURE_PLANES * board * board * batch))
    evaluator = Evaluator(network, kernel)
    calls = max(1, 8 // batch)

    def work() -> None:
        for _ in range(calls):
            evaluator.run_raw(board, board, planes)

    peak = kernel.peak(PEAK_STEPS) / best_seconds(lambda: kernel.peak(PEAK_STEPS), budget_s / 4) / 1e9
    evaluations_s = calls * batch / best_seconds(work, budget_s)
    gmac_s = evaluations_s * network.macs(board, board) / 1e9
    return {
        "kernel": kernel.encode(),
        "network": name,
        "board": f"{board}x{board}",
        "batch": batch,
        "evaluations/s": evaluations_s,
        "gmac/s": gmac_s,
        "peak gmac/s": peak,
        "of peak": gmac_s / peak,
    }


def main() -> None:
    """Measures and prints, fastest kernel first; all kernels unless one is named."""
    given = arguments(__doc__)
    kernels = [given.kernel] if given.kernel != Kernel.BEST else list(reversed(Kernel.available()))
    cases = [
        (name, board, batch) for name, board, batches in (QUICK_CASES if given.quick else CASES) for batch in batches
    ]
    show((measure(kernel, *case, 0.2 if given.quick else 1.0) for kernel in kernels for case in cases), given.json)


if __name__ == "__main__":
    main()
