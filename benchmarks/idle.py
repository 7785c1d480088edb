"""What a node takes that has nothing to do: `python -m benchmarks.idle [--quick] [--json]`.

Five processes, each linked to the four others over libp2p with all its services: a coordinator, a verifier, two relays and a
contributor, in a run where nothing is played; its log grows by a tick each ten seconds, as that of any run. Processor time
(user and system) and resident set are of the node's own process, after it settled; its engine is a process beside it.
"""

import time

from benchmarks._idle_nodes import IdleNode, Usage, idle_nodes
from benchmarks._run import Row, arguments, show

SETTLE_S = 6.0
"""After so long the nodes have met, have asked each other for all, and look on the LAN as seldom as they do later."""

QUICK_S = 22.0
LONG_S = 100.0
"""An engine that is stopped for three minutes is ended."""


def measure(seconds: float) -> list[Row]:
    """A row for each node, after so many seconds."""
    with idle_nodes() as nodes:
        time.sleep(SETTLE_S)
        before = [(Usage.of(node.pid), time.monotonic()) for node in nodes]
        time.sleep(seconds)
        return [_row(node, was, since_s) for node, (was, since_s) in zip(nodes, before, strict=True)]


def _row(node: IdleNode, was: Usage, since_s: float) -> Row:
    now, seconds = Usage.of(node.pid), time.monotonic() - since_s
    engine = None if node.engine is None else Usage.of(node.engine)
    return {
        "node": node.role,
        "links": float(node.links()),
        "seconds": seconds,
        "% of a core": 100 * (now.cpu_s - was.cpu_s) / seconds,
        "MB": now.mb,
        "MB at most": now.peak_mb,
        "engine's MB": "-" if engine is None else engine.mb,
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    show(measure(QUICK_S if given.quick else LONG_S), given.json)


if __name__ == "__main__":
    main()
