"""How fast the exact network evaluates on one core: `python -m benchmarks.net [--quick] [--json]`.

For each kernel, network, board and batch: evaluations a second, billions of multiply-adds a second (gmac/s), and their ratio
to the same kernel's multiply in registers alone; then other engines with the same architecture, one thread. All take turns
in short rounds of processor time. Networks are not trained, boards are random planes.
"""

from collections.abc import Callable
from statistics import median

from benchmarks._games import first_network
from benchmarks._peers import Peer, peers
from benchmarks._run import Row, Summary, arguments, rounds, show_all
from native.netfile import Architecture
from native.network import Kernel
from node.machine.evaluating import SLICE_S, Evaluations, peak_rate

Case = tuple[str, int, int]

CASES: tuple[Case, ...] = (
    ("b6c96", 9, 8),
    ("b6c96", 19, 8),
    ("b6c96", 9, 1),
    ("b4c64", 9, 8),
    ("b4c32", 7, 8),
    ("b4c32", 7, 1),
)
QUICK_CASES = CASES[:2]


def measure(case: Case, kernels: list[Kernel], others: list[Peer], seconds: float) -> list[Row]:
    """One row a kernel and a peer: a network, a board and a batch."""
    name, size, batch = case
    shape = Architecture.parse(name)
    network = first_network(shape.blocks, shape.channels)
    gmac = network.macs(size, size) / 1e9

    def with_peak(kernel: Kernel) -> Callable[[], tuple[float, float]]:
        evaluations = Evaluations(network, size, kernel, batch)
        return lambda: (1 / evaluations.seconds(SLICE_S), peak_rate(kernel) / 1e9)

    def of_peer(peer: Peer) -> Callable[[], tuple[float, float]]:
        return lambda: (1 / peer.seconds(), 0.0)

    works = [*map(with_peak, kernels), *map(of_peer, others)]
    names = [kernel.encode() for kernel in kernels] + [peer.name for peer in others]
    results = rounds(works, seconds)
    first = median(rate for rate, _ in results[0])
    rows: list[Row] = []
    for engine, found in zip(names, results, strict=True):
        rate = Summary.of(rate for rate, _ in found)
        is_peer = found[0][1] == 0.0
        rows.append(
            {
                "engine": engine,
                "evaluations/s": rate.median,
                "spread": rate.spread,
                f"{names[0]}/this": first / rate.median,
                "gmac/s": rate.median * gmac,
                "peak gmac/s": "-" if is_peer else median(peak for _, peak in found),
                "of peak": "-" if is_peer else median(rate * gmac / peak for rate, peak in found),
            }
        )
    return rows


def main() -> None:
    """Measures and prints, fastest kernel first; all kernels unless one is named."""
    given = arguments(__doc__)
    kernels = [given.kernel] if given.kernel != Kernel.BEST else list(reversed(Kernel.available()))
    tables = {}
    for case in QUICK_CASES if given.quick else CASES:
        name, size, batch = case
        others = peers(Architecture.parse(name), size, batch)
        tables[f"{name} {size}x{size} batch {batch}"] = measure(case, kernels, others, 5.0 if given.quick else 20.0)
    show_all(tables, given.json)


if __name__ == "__main__":
    main()
