"""What the log costs when it is long: `python -m benchmarks.log [--quick] [--json] [--entries N]`.

First the log by itself, a million entries (`--quick`: 20,000) of the length that those of a run have: appended in batches,
each on disk before the next; proved, published as tiles, checked from the tiles, opened. Then the state that every node
makes of its entries, with real records: verified, as a node does that follows; known to be those that were verified
before, as a node does that starts again; logged one by one, each on disk before the next, as a coordinator does.
"""

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._long_log import long_run
from benchmarks._run import Row, arguments, show_all
from node.coordinator.log_writer import LogWriter
from node.disk.publisher import Publisher
from node.disk.store import Head, Store
from node.following.stored_log import verified_tree
from protocol import checkpoint
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope, forget_verified
from protocol.layout import CHECKPOINT
from protocol.merkle import leaf_hash, verify_consistency, verify_inclusion
from protocol.seeds import log_origin
from protocol.tiles import ENTRIES, rebuild, tiles_between, verify_hashes
from verification.state import LogState

LONG, QUICK = 1_000_000, 20_000
STATE_LONG, STATE_QUICK = 100_000, 2_000
COORDINATED = 2_000
ENTRY_BYTES = 545
"""What the entries of `long_run` have on average; those of `make demo` have about as many."""

BATCH = 64
PROOFS = 1000
HEADS = 9
RUN = bytes(32)


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


class LongLog:
    """A log of random entries in a folder; the tree is that of a state without anything else in it."""

    def __init__(self, folder: Path) -> None:
        self.public = folder / "public"
        self.database = folder / "node.db"
        self.store = Store(self.database)
        self.state = LogState(RUN)
        self.secret = SecretKey(bytes(range(32)))
        self.publisher = Publisher(self.state, self.store, self.public)
        self._rng = Random(1)

    def append(self, entries: int) -> float:
        """Appends entries in batches; seconds."""
        seconds = 0.0
        while (left := entries - self.state.size) > 0:
            batch = [self._rng.randbytes(ENTRY_BYTES) for _ in range(min(BATCH, left))]
            seconds += timed(partial(self._add, batch))
        return seconds

    def _add(self, batch: list[bytes]) -> None:
        self.store.append(batch)
        for entry in batch:
            self.state.tree.append(entry)

    def publish(self) -> float:
        """Signs and shows a head; seconds."""
        head = Checkpoint(log_origin(RUN), self.state.size, self.state.tree.root())
        note = head.sign(self.secret)
        self.store.put_head(Head(head.size, head.root_hash, note.encode()))
        return timed(lambda: self.publisher.publish(note))

    def prove(self) -> tuple[float, float]:
        """Proves entries, and sizes that the log had; processor milliseconds of the slowest of each kind."""
        tree = self.state.tree
        root = tree.root()
        slowest = [0.0, 0.0]
        for _ in range(PROOFS):
            index = self._rng.randrange(tree.size)
            started = time.process_time()
            proof = tree.inclusion_proof(index)
            between = time.process_time()
            path = tree.consistency_proof(index)
            ended = time.process_time()
            slowest = [max(slowest[0], between - started), max(slowest[1], ended - between)]
            entry = self.store.entry(index)
            assert entry is not None
            verify_inclusion(leaf_hash(entry), index, tree.size, proof, root)
            verify_consistency(index, tree.size, path, tree.root(index), root)
        return slowest[0] * 1e3, slowest[1] * 1e3

    def check_tiles(self) -> None:
        """Everything that the folder shows, from its files alone: the head, every entry, every hash, every older head."""
        note = SignedNote.parse((self.public / CHECKPOINT).read_bytes())
        head = checkpoint.verify(note, self.secret.public, log_origin(RUN))
        tiles = list(tiles_between(0, head.size))
        bundles = ((self.public / tile.path).read_bytes() for tile in tiles if tile.level == ENTRIES)
        tree, _ = rebuild(bundles, head.size)
        for tile in tiles:
            if tile.level != ENTRIES:
                verify_hashes(tile, (self.public / tile.path).read_bytes(), tree)
        assert tree.root() == head.root_hash
        for older in self.store.heads():
            assert tree.root(older.size) == older.root

    def open(self, is_cold: bool) -> float:
        """Closes the log and opens it as a start does: the tree of its hashes, the folder whole; seconds.

        That each entry has its hash is looked at when it is applied: `state_rows`, known.
        """
        self.store.close()
        if is_cold:
            for file in (self.database, *(path for path in self.public.rglob("*") if path.is_file())):
                forget(file)
        started = time.perf_counter()
        self.store = Store(self.database)
        assert verified_tree(self.store).root() == self.state.tree.root()
        self.publisher = Publisher(self.state, self.store, self.public)
        self.publisher.mend()
        return time.perf_counter() - started


def forget(file: Path) -> None:
    """Has the machine's memory keep nothing of a file."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def log_row(entries: int, folder: Path) -> Row:
    """What a log of so many entries costs."""
    log = LongLog(folder)
    appended = log.append(entries - HEADS * BATCH)
    first = log.publish()
    heads = []
    for _ in range(HEADS):
        appended += log.append(log.state.size + BATCH)
        heads.append(log.publish())
    inclusion, consistency = log.prove()
    row: dict[str, str | float] = {
        "entries": entries,
        "appended/s": entries / appended,
        "inclusion ms": inclusion,
        "consistency ms": consistency,
        "next head ms": sorted(heads)[HEADS // 2] * 1e3,
        "first head s": first,
        "check s": timed(log.check_tiles),
        "open s": log.open(is_cold=False),
        "open cold s": log.open(is_cold=True),
    }
    log.store.close()
    return row | {"MB": log.database.stat().st_size / 1e6}


def apply(run: bytes, entries: Iterable[bytes], is_verified: bool) -> LogState:
    """The state of entries."""
    state = LogState(run)
    for entry in entries:
        state.apply(entry, is_verified=is_verified)
    return state


def coordinate(run: bytes, entries: list[bytes], folder: Path) -> None:
    """Logs entries one by one."""
    with Store(folder / "coordinated.db") as store:
        log = LogWriter(LogState(run), store, SecretKey(bytes(32)), folder / "coordinated", time.monotonic)
        for entry in entries:
            log.append(Envelope.parse(entry))


def state_rows(count: int, folder: Path) -> list[Row]:
    """What the state of so many entries costs, or a few more."""
    with Store(folder / "state.db") as store:
        world = long_run(count, store.append)
        size = store.log_size
        some = store.entries(0, COORDINATED, 1 << 30)

        def row(work: str, entries: int, do: Callable[[], object]) -> Row:
            forget_verified()
            seconds = timed(do)
            return {"entries": entries, "state": work, "seconds": seconds, "entries/s": entries / seconds}

        return [
            row("verified", size, lambda: apply(world.run, store.iterate_log(), False)),
            row("known", size, lambda: apply(world.run, store.iterate_log(), True)),
            row("logged one by one", len(some), lambda: coordinate(world.run, some, folder)),
        ]


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__, entries="so many in place of those said above")
    entries = given.entries or (QUICK if given.quick else LONG)
    state_entries = given.entries or (STATE_QUICK if given.quick else STATE_LONG)
    with TemporaryDirectory(prefix="gonode-log-") as name:
        folder = Path(name)
        tables = {"the log": [log_row(entries, folder)], "the state": state_rows(state_entries, folder)}
    show_all(tables, given.json)


if __name__ == "__main__":
    main()
