"""Training cycles in the log: a window's commitment, then the record of the training that used it.

Spec: `docs/spec/training.md`. Invariants: a cycle begins when its window is due and the cycle before it is gated; the
window is recomputed from the log; train states chain, refused candidates' too.
"""

from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from protocol.entries import Entry
from protocol.types import ZERO
from protocol.window import TrainRecord, WindowCommitment
from verification.batches import Batches
from verification.beacons import Beacons
from verification.faults import LogFault
from verification.releases import Releases
from verification.roles import Change, Roles
from verification.window import Window, is_due, rows_missing, window_of


@dataclass(slots=True)
class CycleInfo:
    """A cycle: its window as committed at `window_index`, its train record, and its gate record, once logged."""

    commitment: WindowCommitment
    window_index: int
    window: Window
    train: TrainRecord | None = None
    train_index: int = 0
    train_digest: bytes = b""
    gate_index: int | None = None


def training_seed(run: bytes, cycle: int, beacon: bytes) -> bytes:
    """The seed of a cycle's training: SHA-256("gonode/train/v1\\0" | run | u32 cycle | beacon(window's index))."""
    return sha256(b"gonode/train/v1\0" + run + cycle.to_bytes(4, "little") + beacon).digest()


class Cycles:
    """All training cycles of the log."""

    def __init__(self, roles: Roles, beacons: Beacons, batches: Batches, releases: Releases) -> None:
        self._roles = roles
        self._beacons = beacons
        self._batches = batches
        self._releases = releases
        self.all: list[CycleInfo] = []

    @property
    def newest(self) -> CycleInfo | None:
        """The last cycle begun."""
        return self.all[-1] if self.all else None

    @property
    def last_train(self) -> TrainRecord | None:
        """The last train record, whose train state the next cycle goes on from."""
        return next((cycle.train for cycle in reversed(self.all) if cycle.train is not None), None)

    def by_window(self, index: int) -> CycleInfo | None:
        """The cycle whose window is committed at a log index."""
        return next((cycle for cycle in self.all if cycle.window_index == index), None)

    def by_train_record(self, index: int) -> CycleInfo | None:
        """The cycle whose train record is logged at an index."""
        return next((cycle for cycle in self.all if cycle.train is not None and cycle.train_index == index), None)

    @property
    def is_ready(self) -> bool:
        """Whether the cycle before is gated, so that the next one waits for rows alone."""
        return self.newest is None or self.newest.gate_index is not None

    def rows_missing(self) -> int:
        """How many more released rows the next window waits for."""
        total = sum(batch.header.plies for batch in self._batches.released)
        return rows_missing(total, self._last_total, self._roles.manifest.window)

    def next_window(self, index: int) -> WindowCommitment | None:
        """The commitment that an entry at `index` may hold, or None while none is due."""
        found = self._due(index)
        return None if found is None else found[0]

    def seed(self, cycle: CycleInfo) -> bytes | None:
        """The cycle's training seed; None until its window's index has a beacon."""
        value = self._beacons.value(cycle.window_index)
        return None if value is None else training_seed(self._roles.run, cycle.commitment.cycle, value)

    def change_window(self, entry: Entry, record: WindowCommitment, index: int) -> Change:
        """Checks a window's commitment; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        if not self.is_ready:
            raise LogFault("The cycle before is not gated yet.")
        due = self._due(index)
        if due is None:
            raise LogFault(f"A window is not due: {self.rows_missing()} more released rows are needed.")
        if record != due[0]:
            raise LogFault("The window is not what the log and the manifest give.")
        return lambda: self.all.append(CycleInfo(record, index, due[1]))

    def change_train(self, entry: Entry, record: TrainRecord, index: int) -> Change:
        """Checks a train record; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        cycle = self.newest
        if cycle is None or cycle.train is not None:
            raise LogFault("No training cycle is open.")
        if (record.cycle, record.window) != (cycle.commitment.cycle, cycle.window_index):
            raise LogFault("The train record is for another cycle or window than the open one.")
        if record.base != self._releases.newest.id:
            raise LogFault("The train record's base is not the newest release.")
        before = self.last_train
        if record.parent_state != (ZERO if before is None else before.state):
            raise LogFault("The train record does not go on from the last train state.")
        if record.seed != self.seed(cycle):
            raise LogFault("The train record's seed is not what the window's beacon gives.")
        if record.steps <= (before.steps if before else 0) or record.samples < (before.samples if before else 0):
            raise LogFault("The train record's steps and samples must go on from the last ones.")
        steps = [point.step for point in record.states]
        if any(a >= b for a, b in pairwise(steps)) or (steps and steps[-1] > record.steps):
            raise LogFault("The train record's states must be in the order of their steps.")

        def change() -> None:
            cycle.train, cycle.train_index, cycle.train_digest = record, index, entry.envelope.digest

        return change

    @property
    def _last_total(self) -> int | None:
        return None if self.newest is None else self.newest.commitment.total_rows

    def _due(self, index: int) -> tuple[WindowCommitment, Window] | None:
        policy = self._roles.manifest.window
        released = self._batches.released
        total = sum(batch.header.plies for batch in released)
        if not self.is_ready or not is_due(total, self._last_total, policy):
            return None
        window = window_of(released, policy)
        commitment = WindowCommitment(
            run=self._roles.run,
            cycle=len(self.all),
            log_size=index,
            batches=len(window.batches),
            games=window.games,
            rows=window.rows,
            total_rows=window.total_rows,
            headers=window.headers,
        )
        return commitment, window
