"""What a verifier pays: replaying games by kernel, and finding an edit: `python -m benchmarks.replay [--quick] [--json]`.

Games are played once with the chosen kernel, then replayed with each kernel of this machine on one thread.
"""

import time

from benchmarks._games import SUBJECTS, Subject, arguments, play_for, show
from native.network import Kernel
from native.pool import Done, Pool
from native.search import Player


def measure(
    subject: Subject, player: Player, dones: list[Done], kernel: Kernel, playing: float
) -> dict[str, str | float]:
    """One row: all the games again with `kernel`."""
    job_of = subject.jobs(player)
    with Pool(1, kernel) as pool:
        started = time.perf_counter()
        for done in dones:
            pool.replay(job_of(done.id), done.block)
        for _ in dones:
            found = pool.wait(600)
            if found is None or not found.is_ok:
                raise SystemExit(f"A replay differs: {found.sentence if found else 'no answer'}")
        spent = time.perf_counter() - started
    plies = sum(done.plies for done in dones)
    return {
        "subject": subject.name,
        "kernel": kernel.encode(),
        "games": len(dones),
        "plies/s": plies / spent,
        "ms/ply": spent / plies * 1e3,
        "replay/play": spent / playing,
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    rows = []
    for subject in SUBJECTS[1:2] if given.quick else SUBJECTS:
        player = Player(subject.network(), bytes(32))
        playing, dones = play_for(0.3 if given.quick else 2.0, 1, subject.jobs(player), given.kernel)
        kernels = Kernel.available() if player.network else [Kernel.best()]
        rows += [measure(subject, player, dones, kernel, playing) for kernel in kernels]
    show(rows, given.json)


if __name__ == "__main__":
    main()
