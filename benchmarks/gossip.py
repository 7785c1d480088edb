"""How fast a head reaches everybody over libp2p, and what gossip lost: `python -m benchmarks.gossip [--quick] [--json]`.

Twenty processes, each of which dials four others, follow a log that one more announces, a head a second; meanwhile a fifth
of them are killed with SIGKILL. `heard`: the announcement arrived by gossip; `followed`: so did the head's entries. Times
are those of the processes that live to the end. Two of them hear no announcement: what gossip lost comes to them by asking.
"""

import time
from collections.abc import Callable, Sequence

from benchmarks._gossip_nodes import GossipNode, Times, gossip_nodes
from benchmarks._run import Row, arguments, show

PROCESSES = 20
DEAF = 2
KILLED = PROCESSES // 5
LINKS = 4
HEAD_S = 1.0
MESH_S = 2.0
"""After so long the mesh of GossipSub stands and the followers are quiet."""

LOST_S = 30.0
"""What gossip lost has to arrive within."""


def measure(heads: int) -> list[Row]:
    """The rows, after so many heads."""
    with gossip_nodes(PROCESSES - DEAF, DEAF, LINKS) as nodes:
        announcer, others = nodes[0], nodes[1:]
        _read(others, MESH_S)
        _until(others, 1)
        victims = others[: PROCESSES - DEAF][:: PROCESSES // KILLED - 1][:KILLED]
        living = [node for node in others if node not in victims]
        waiting = list(victims)
        for number in range(1, heads + 1):
            announcer.orders.send(("", []))
            if waiting and number % (heads // (KILLED + 1)) == 0:
                waiting.pop().process.kill()
            _read([announcer], HEAD_S)
        _until(living, max(announcer.told))
    listening, deaf = ([node for node in living if node.is_deaf == is_deaf] for is_deaf in (False, True))
    return [
        _row("heard", announcer.told, listening, lambda node: node.heard),
        _row("followed", announcer.told, listening, lambda node: node.followed),
        _row("followed by who hears nothing", announcer.told, deaf, lambda node: node.followed),
    ]


def _read(nodes: Sequence[GossipNode], seconds: float) -> None:
    """Takes what nodes tell for so long."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for node in nodes:
            node.read()
        time.sleep(min(0.05, left))


def _until(nodes: Sequence[GossipNode], size: int) -> None:
    """Takes what nodes tell until all have so many entries, for LOST_S at most."""
    until = time.monotonic() + LOST_S
    while time.monotonic() < until and not all(node.reaches(size) for node in nodes):
        _read(nodes, 0.1)
    _read(nodes, 0.1)


def _row(what: str, told: Times, nodes: Sequence[GossipNode], times: Callable[[GossipNode], Times]) -> Row:
    """Seconds from the announcement on; what never arrived counts as LOST_S in them."""
    took = sorted(times(node).get(size, told[size] + LOST_S) - told[size] for node in nodes for size in told)
    return {
        "what": what,
        "processes": len(nodes),
        "heads": len(told),
        "median s": took[len(took) // 2],
        "95 % s": took[int(len(took) * 0.95)],
        "worst s": took[-1],
        "lost": sum(size not in times(node) for node in nodes for size in told),
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    show(measure(8 if given.quick else 60), given.json)


if __name__ == "__main__":
    main()
