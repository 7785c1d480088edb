"""Games, plies and visits a second by number of threads: `python -m benchmarks.selfplay [--quick] [--json]`."""

import os

from benchmarks._games import SUBJECTS, Subject, arguments, play_for, show
from native.network import Kernel
from native.search import Player


def measure(subject: Subject, threads: int, kernel: Kernel, seconds: float) -> dict[str, str | float]:
    """One row."""
    spent, dones = play_for(seconds, threads, subject.jobs(Player(subject.network(), bytes(32))), kernel)
    plies = sum(done.plies for done in dones)
    return {
        "subject": subject.name,
        "threads": threads,
        "games/s": len(dones) / spent,
        "plies/s": plies / spent,
        "visits/s": sum(done.visits for done in dones) / spent,
        "plies/game": plies / len(dones),
        "bytes/ply": sum(len(done.block) for done in dones) / plies,
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    seconds = 0.3 if given.quick else 5.0
    subjects = SUBJECTS[:2] if given.quick else SUBJECTS
    threads = sorted({1, os.cpu_count() or 1})
    show((measure(s, n, given.kernel, seconds) for s in subjects for n in threads), given.json)


if __name__ == "__main__":
    main()
