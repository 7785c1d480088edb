"""Cost of a visit on one core, in all and outside the network: `python -m benchmarks.search [--quick] [--json]`.

Whole self-play games are played on one thread; the network's share is its evaluations times the time of one, measured
alone. What is left is ours: rules, features, softmax, tree, trace. Times are processor time, so that other load on the
machine does not count.
"""

import time

from benchmarks._games import SUBJECTS, Subject, arguments, play_for, show
from native.game import Game
from native.network import Evaluator, Kernel, Network
from native.rules import Rules
from native.search import Player

CALLS = 50


def evaluation_us(network: Network, size: int, kernel: Kernel, seconds: float) -> float:
    """Microseconds of one evaluation, one position a call of the engine."""
    evaluator = Evaluator(network, kernel)
    planes = Game(Rules(size, size, 15)).features()
    started, count = time.process_time(), 0
    while (spent := time.process_time() - started) < seconds:
        for _ in range(CALLS):
            evaluator.run_raw(size, size, planes)
        count += CALLS
    return spent / count * 1e6


def measure(subject: Subject, kernel: Kernel, seconds: float) -> dict[str, str | float]:
    """One row."""
    network = subject.network()
    started = time.process_time()
    _, dones = play_for(seconds, 1, subject.jobs(Player(network, bytes(32))), kernel)
    spent = time.process_time() - started
    visits = sum(done.visits for done in dones)
    evaluations = sum(done.evaluations for done in dones)
    alone = evaluation_us(network, subject.size, kernel, seconds / 4) if network else 0.0
    return {
        "subject": subject.name,
        "us/visit": spent / visits * 1e6,
        "us/evaluation": alone,
        "evaluations/visit": evaluations / visits,
        "us/visit outside": (spent * 1e6 - evaluations * alone) / visits,
        "games": len(dones),
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    seconds = 0.3 if given.quick else 4.0
    show((measure(subject, given.kernel, seconds) for subject in SUBJECTS), given.json)


if __name__ == "__main__":
    main()
