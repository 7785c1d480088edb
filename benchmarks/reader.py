"""How fast batches become minibatches on one core: `python -m benchmarks.reader [--quick] [--json]`.

Rows a second of: decompressing and parsing batches, replaying their games into rows, cutting minibatches of 128 from them.
The last has to be far above what `benchmarks.train` says a step takes, so that the optimiser never waits.
"""

import time

import numpy as np

from benchmarks._games import Subject, play_for
from benchmarks._run import arguments, show
from native.network import Kernel
from native.search import Player
from protocol.batch import encode_batch, parse_batch
from protocol.compress import compress, decompress
from trainer.data.draws import Sampler
from trainer.data.minibatch import collate
from trainer.data.reader import read_game
from trainer.data.rows import Window

GAMES_PER_BATCH = 8
MINIBATCH = 128


def measure(subject: Subject, kernel: Kernel, seconds: float) -> dict[str, str | float]:
    """One row: games of a subject, played for so long."""
    job_of = subject.jobs(Player(None, bytes(32)))
    dones = play_for(seconds, job_of, kernel)
    blocks = [done.block for done in sorted(dones, key=lambda done: done.id)]
    starts = range(0, len(blocks), GAMES_PER_BATCH)
    blobs = [compress(encode_batch(blocks[start : start + GAMES_PER_BATCH])) for start in starts]

    started = time.perf_counter()
    games = [game for blob in blobs for game in parse_batch(decompress(blob, 2**26)).games]
    parsed = time.perf_counter()
    window = Window.of(read_game(job_of(0).rules, game.raw, held_out=False) for game in games)
    replayed = time.perf_counter()
    sampler = Sampler(bytes(32), window.numbers(held_out=False), MINIBATCH)
    steps = max(20, len(window) // MINIBATCH)
    for step in range(steps):
        collate(window, *sampler.minibatch(step))
    drawn = time.perf_counter()
    return {
        "subject": subject.name,
        "rows": len(window),
        "blob bytes/row": sum(map(len, blobs)) / len(window),
        "memory bytes/row": float(np.mean([sum(a.nbytes for a in _arrays(g)) / len(g) for g in window.groups])),
        "parse rows/s": len(window) / (parsed - started),
        "replay rows/s": len(window) / (replayed - parsed),
        "minibatch rows/s": steps * MINIBATCH / (drawn - replayed),
    }


def _arrays(group: object) -> list[np.ndarray]:
    return [value for name in group.__slots__ if isinstance(value := getattr(group, name), np.ndarray)]  # type: ignore[attr-defined]


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    subjects = (Subject(7, 0, 0),) if given.quick else (Subject(7, 0, 0), Subject(9, 0, 0), Subject(19, 0, 0))
    show([measure(subject, given.kernel, 0.5 if given.quick else 3.0) for subject in subjects], given.json)


if __name__ == "__main__":
    main()
