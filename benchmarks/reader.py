"""How fast batches become minibatches: `python -m benchmarks.reader [--quick] [--json]`.

Rows a second on one core of: reading (compressed batches to packed rows: hashing, decompressing, replaying, packing),
taking kept rows again, and laying out minibatches of 128 under symmetries. Then the share of its time that the optimiser of
b4c64 on 9x9 waits for data, on one thread, fed by no worker and by one.
"""

import dataclasses
import hashlib
import tempfile
import time
from pathlib import Path

from benchmarks._games import Subject, play_for
from benchmarks._run import arguments, show_all
from native.netfile import Architecture
from native.network import Kernel
from native.search import Player
from node.founding.manifest_file import load_manifest
from protocol.batch import encode_batch
from protocol.blob import blob_digest
from protocol.compress import compress
from protocol.manifest import Manifest, RulesSpec
from trainer.data import rows_file
from trainer.data.cache import RowsCache
from trainer.data.draws import Sampler
from trainer.data.feeder import Feeder
from trainer.data.minibatch import collate
from trainer.data.reader import read_window
from trainer.data.rows import Window
from trainer.job import BatchFile
from trainer.learning.learner import Learner
from trainer.pin import pin

GAMES_PER_BATCH = 8
MINIBATCH = 128
SHAPE = Architecture(4, 64)
Row = dict[str, str | float]


def manifest_of() -> Manifest:
    """The default run under the rules of the benchmarks' games."""
    rules = RulesSpec(ko="positional", suicide=True, pass_alive=True, settled_end=True, move_cap_factor=3)
    base = load_manifest(None)
    return dataclasses.replace(base, rules=rules, training=dataclasses.replace(base.training, minibatch=MINIBATCH))


def batches_of(subject: Subject, kernel: Kernel, seconds: float, folder: Path) -> list[BatchFile]:
    """Games of a subject, played for so long, as batches on disk."""
    dones = play_for(seconds, subject.jobs(Player(None, bytes(32))), kernel)
    blocks = [done.block for done in sorted(dones, key=lambda done: done.id)]
    files = []
    for start in range(0, len(blocks), GAMES_PER_BATCH):
        raw = encode_batch(blocks[start : start + GAMES_PER_BATCH])
        blob, name = compress(raw), hashlib.sha256(raw)
        path = folder / name.hexdigest()
        path.write_bytes(blob)
        files.append(BatchFile(path, len(raw), blob_digest(blob), name.digest()))
    return files


def refused(file: BatchFile, why: str) -> None:
    """No batch of these is bad."""
    raise SystemExit(f"Batch {file.name} was refused: {why}")


def lost(text: str) -> None:
    """No worker ends before it is let go."""
    raise SystemExit(text)


def measure(subject: Subject, kernel: Kernel, seconds: float) -> tuple[Row, Window]:
    """Reading, reading again and laying out; and the window."""
    manifest = manifest_of()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = batches_of(subject, kernel, seconds, folder)
        cache = RowsCache(folder / "cache", [rows_file.path_of(folder / "cache", file) for file in files])
        started = time.perf_counter()
        window, _ = read_window(files, manifest, refused)
        read = time.perf_counter()
        read_window(files, manifest, refused, cache=cache)
        stored = time.perf_counter()
        read_window(files, manifest, refused, cache=cache)
        kept = time.perf_counter()
        blob_bytes = sum(file.path.stat().st_size for file in files)
    sampler = Sampler(bytes(32), window.numbers(held_out=False), MINIBATCH)
    steps = max(200, 2 * len(window) // MINIBATCH)
    begun = time.perf_counter()
    for step in range(steps):
        collate(window, *sampler.minibatch(step))
    laid_out = time.perf_counter() - begun
    row: Row = {
        "subject": subject.name,
        "rows": len(window),
        "blob bytes/row": blob_bytes / len(window),
        "kept bytes/row": float(window.games["length"].sum()) / len(window),
        "read rows/s": len(window) / (read - started),
        "kept rows/s": len(window) / (kept - stored),
        "minibatch rows/s": steps * MINIBATCH / laid_out,
    }
    return row, window


def measure_waiting(window: Window, workers: int, seconds: float) -> Row:
    """Steps of the optimiser for about so long, after those in which everything starts."""
    pin(1)
    learner = Learner(manifest_of(), bytes(32), shape=SHAPE)
    sampler = Sampler(bytes(32), window.numbers(held_out=False), MINIBATCH)
    with Feeder(window, sampler, workers, lost) as feeder:
        for step in range(3):
            learner.step(feeder.minibatch(step), 0)
        started, waited, steps = time.perf_counter(), feeder.waited_s, 0
        while steps < 5 or time.perf_counter() < started + seconds:
            learner.step(feeder.minibatch(3 + steps), 0)
            steps += 1
        elapsed = time.perf_counter() - started
        waited = feeder.waited_s - waited
    return {
        "network": SHAPE.encode(),
        "board": max(window.sizes),
        "minibatch": MINIBATCH,
        "workers": workers,
        "samples/s": steps * MINIBATCH / elapsed,
        "ms waited/step": waited / steps * 1e3,
        "waiting %": 100 * waited / elapsed,
    }


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    subjects = (Subject(9, 0, 0),) if given.quick else (Subject(7, 0, 0), Subject(9, 0, 0), Subject(19, 0, 0))
    rows, windows = [], {}
    for subject in subjects:
        row, windows[subject.size] = measure(subject, given.kernel, 0.5 if given.quick else 3.0)
        rows.append(row)
    waiting = [measure_waiting(windows[9], workers, 3.0 if given.quick else 15.0) for workers in (0, 1)]
    show_all({"Rows on one core": rows, "Waiting for data": waiting}, given.json)


if __name__ == "__main__":
    main()
