"""Training cycles in the log: a window's commitment, then the record of the training that used it, or that none did.

Spec: `docs/spec/training.md`. Invariants: a cycle begins when its window is due and the cycle before it is gated or
given up; the window is recomputed from the log; train states chain, refused candidates' too, except to a network that is
grown.
"""

from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

from native.errors import EngineError
from native.netfile import Architecture, file_bytes
from protocol.entries import Entry
from protocol.manifest import Manifest
from protocol.types import ZERO
from protocol.window import GivenUpCycle, LossReport, TrainRecord, WindowCommitment
from verification.batches import Batches
from verification.beacons import Beacons
from verification.faults import LogFault
from verification.releases import Releases
from verification.roles import Change, Roles
from verification.window import Window, is_due, rows_missing, window_of

NOTHING_MEASURED = LossReport(0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """A window as committed at log index `index`, and the manifest that its cycle follows."""

    index: int
    record: WindowCommitment
    window: Window
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class TrainingInfo:
    """A train record as logged at `index`; `digest` identifies its network in gate games."""

    index: int
    digest: bytes
    record: TrainRecord


@dataclass(frozen=True, slots=True)
class GivenUpInfo:
    """A cycle given up, as logged at `index`."""

    index: int
    record: GivenUpCycle


def training_seed(run: bytes, beacon: bytes) -> bytes:
    """The seed of a cycle's training: SHA-256("gonode/train/v1\0" | run | beacon of the window's index)."""
    return sha256(b"gonode/train/v1\0" + run + beacon).digest()


class Cycles:
    """All training cycles of the log."""

    def __init__(self, roles: Roles, beacons: Beacons, batches: Batches, releases: Releases) -> None:
        self._roles = roles
        self._beacons = beacons
        self._batches = batches
        self._releases = releases
        self.windows: list[WindowInfo] = []
        self.trainings: list[TrainingInfo] = []
        self.given_up: list[GivenUpInfo] = []
        self.gated = 0

    @property
    def untrained(self) -> WindowInfo | None:
        """The window whose training is not logged yet, nor given up."""
        return self.windows[-1] if len(self.windows) > len(self.trainings) + len(self.given_up) else None

    @property
    def is_ready(self) -> bool:
        """Whether the cycle before is trained and gated, or given up, so that the next one waits for rows alone."""
        return len(self.windows) == self.gated + len(self.given_up)

    @property
    def shape(self) -> str:
        """The architecture that training goes on with: of the last train record, else of the manifest."""
        return self.trainings[-1].record.shape if self.trainings else self._roles.manifest.network.shape

    @property
    def released_rows(self) -> int:
        """Rows of all batches released so far."""
        return self._batches.released_rows

    def window_at(self, index: int) -> WindowInfo | None:
        """The window committed at a log index."""
        return next((window for window in self.windows if window.index == index), None)

    def training_at(self, index: int) -> TrainingInfo | None:
        """The training logged at an index."""
        return next((training for training in self.trainings if training.index == index), None)

    def rows_missing(self) -> int:
        """How many more released rows the next window waits for."""
        return rows_missing(self.released_rows, self._last_total, self._roles.manifest.window)

    def due_window(self, index: int) -> WindowInfo | None:
        """The window that an entry at `index` may commit to, or None while none is due."""
        policy = self._roles.manifest.window
        if not self.is_ready or not is_due(self.released_rows, self._last_total, policy):
            return None
        window = window_of(self._batches.released, policy)
        record = WindowCommitment(
            run=self._roles.run,
            cycle=len(self.windows) + 1,
            log_size=index,
            batches=len(window.batches),
            games=window.games,
            rows=window.rows,
            total_rows=window.total_rows,
            headers=window.headers,
        )
        return WindowInfo(index, record, window, self._roles.manifest)

    def seed(self, window: WindowInfo) -> bytes | None:
        """A cycle's training seed; None until its window's index has a beacon."""
        value = self._beacons.value(window.index)
        return None if value is None else training_seed(self._roles.run, value)

    def change_window(self, entry: Entry, record: WindowCommitment, index: int) -> Change:
        """Checks a window's commitment; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        if not self.is_ready:
            raise LogFault("The cycle before is not gated yet.")
        due = self.due_window(index)
        if due is None:
            raise LogFault(f"A window is not due: {self.rows_missing()} more released rows are needed.")
        if record != due.record:
            raise LogFault("The window is not what the log and the manifest give.")
        return lambda: self.windows.append(due)

    def change_train(self, entry: Entry, record: TrainRecord, index: int) -> Change:
        """Checks a train record; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        window = self._require_open(record)
        if record.base != self._releases.newest.id:
            raise LogFault("The train record's base is not the newest release.")
        before = self.trainings[-1].record if self.trainings else None
        self._check_shape(record, before)
        if record.seed != self.seed(window):
            raise LogFault("The train record's seed is not what the window's beacon gives.")
        steps, samples = (0, 0) if before is None else (before.steps, before.samples)
        if record.steps <= steps or record.samples <= samples:
            raise LogFault("The train record's steps and samples must rise from the last ones.")
        _check_cycle(record, window, record.samples - samples)
        points = [point.step for point in record.states]
        if any(a >= b for a, b in pairwise(points)) or (points and points[-1] > record.steps):
            raise LogFault("The train record's states must be in the order of their steps.")
        training = TrainingInfo(index, entry.envelope.digest, record)
        return lambda: self.trainings.append(training)

    def change_given_up(self, entry: Entry, record: GivenUpCycle, index: int) -> Change:
        """Checks the end of a cycle without a candidate; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        if self.seed(self._require_open(record)) is None:
            raise LogFault("The cycle is given up before its window has a beacon to train by.")
        return lambda: self.given_up.append(GivenUpInfo(index, record))

    def _require_open(self, record: TrainRecord | GivenUpCycle) -> WindowInfo:
        window = self.untrained
        if window is None:
            raise LogFault("No training cycle is open.")
        if (record.cycle, record.window) != (window.record.cycle, window.index):
            raise LogFault(f"The {record.NAME} is for another cycle or window than the open one.")
        return window

    def _check_shape(self, record: TrainRecord, before: TrainRecord | None) -> None:
        """The record goes on from the last train state with its shape, or is of a network grown to another; LogFault."""
        is_grown = before is not None and record.parent_state == ZERO != before.state
        if not is_grown and record.parent_state != (ZERO if before is None else before.state):
            raise LogFault("The train record does not go on from the last train state.")
        shape = self.shape
        if is_grown and record.shape == shape:
            raise LogFault(f"The train record begins anew with {shape}, which the last network had already.")
        if not is_grown and record.shape != shape:
            raise LogFault(f"The train record's network is {record.shape}; the train state is of {shape}.")
        try:
            length = file_bytes(Architecture.parse(record.shape))
        except EngineError as error:
            raise LogFault(f"The train record's shape is none of a network: {error}") from error
        if record.network_len != length:
            raise LogFault(f"The train record's network is not as long as one of {record.shape}.")

    @property
    def _last_total(self) -> int | None:
        return self.windows[-1].record.total_rows if self.windows else None


def _check_cycle(record: TrainRecord, window: WindowInfo, samples: int) -> None:
    """The record accounts for its window, is of the manifest's processes, and measured what it says; raises LogFault."""
    if not 0 < record.batches <= record.batches + record.skipped == window.record.batches:
        raise LogFault(
            f"The train record has {record.batches} batches read and {record.skipped} skipped; the window has "
            f"{window.record.batches}."
        )
    training = window.manifest.training
    if (record.processes, record.threads) != (training.processes, training.threads):
        raise LogFault(
            f"The train record's processes and threads are {record.processes} and {record.threads}; the manifest of "
            f"its window wants {training.processes} and {training.threads}."
        )
    if record.rounding.rows == 0:
        raise LogFault("The train record says of no row what rounding cost.")
    if not 0 < record.losses.rows <= samples:
        raise LogFault(f"The train record's losses are not of the {samples} samples of its cycle.")
    if record.held_out.rows == 0 and record.held_out != NOTHING_MEASURED:
        raise LogFault("The train record has losses on held-out rows, of which there were none.")
