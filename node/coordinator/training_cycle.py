"""One training cycle of the coordinator: commits the window, has it trained, logs the record that becomes the candidate.

Spec: `docs/spec/training.md`, `docs/spec/train-state.md`. What is done is read from the log, so a killed coordinator goes on
where it was: a committed window is trained, a trained one logged, each once; one that cannot be trained is given up, and the
next one waited for. Refused candidates chain by train state. Train states lie among the blobs, for whoever repeats
training: those of the cycles since the third-newest release, older ones are deleted.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from node.coordinator.growth import Growth
from node.coordinator.log_writer import LogWriter
from node.member import Member
from node.training.errors import TrainingFailed
from node.training.events import Progress
from node.training.job_file import TrainingJob
from node.training.progress import TrainingProgress
from node.training.result import Losses, load_result
from node.training.train_record import Begun, state_file, train_record
from node.training.trainer_process import Train
from protocol.ed25519 import SecretKey
from protocol.window import GivenUpCycle, TrainRecord, WindowCommitment
from protocol.words import counted
from verification.cycles import WindowInfo
from verification.training import STATE_EVERY_STEPS, cycle_samples, kept_states, named_states

WORKERS = 1
"""Processes that read and lay out data beside the trainer's own; they decide no byte."""
MOST_TEXT = 200
"""Characters that a record of a cycle given up has for the trainer's sentence."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a cycle goes on from: the last record, of which a grown network takes the counts and not the state."""

    last: TrainRecord | None
    shape: str
    is_grown: bool

    @property
    def parent(self) -> TrainRecord | None:
        """Whose train state is gone on from."""
        return None if self.is_grown else self.last

    @property
    def steps(self) -> int:
        """Training steps of the run before it."""
        return 0 if self.last is None else self.last.steps

    @property
    def samples(self) -> int:
        """Samples of the run before it."""
        return 0 if self.last is None else self.last.samples


class TrainingCycle:
    """Windows and train records of one coordinator."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter, train: Train, device: str) -> None:
        self._train = train
        self._member = member
        self._secret = secret
        self._log = log
        self._device = device
        self._growth = Growth(member.state, member.store)
        self._progress = TrainingProgress(member.events)
        self._failed: tuple[int, str] | None = None

    @property
    def progress(self) -> Progress | None:
        """What the trainer said last of how far it is, for the status; None before that."""
        return self._progress.now

    def commit(self, commitment: WindowCommitment) -> None:
        """Logs the window that is due."""
        self._log.append(commitment.seal(self._secret))
        self._member.wake()
        self._member.events(
            "window",
            f"Training window {commitment.cycle}: {counted(commitment.rows, 'ply', 'plies')} of "
            f"{counted(commitment.games, 'game')}.",
        )

    async def train(self, window: WindowInfo) -> None:
        """Trains on a committed window and logs the train record; raises TrainingFailed."""
        member = self._member
        seed = await member.until(lambda: member.state.cycles.seed(window))
        last = member.state.trainings[-1].record if member.state.trainings else None
        shape = self._growth.now
        start = Start(last, shape or member.state.cycles.shape, is_grown=shape is not None)
        out = self.folder(window.record.cycle)
        job = self._write_job(out, window, start, seed)
        self._progress.begin()
        await self._train(job, self._progress.hear)
        result = load_result(out)
        parent = None if start.parent is None else start.parent.state
        begun = Begun(window, member.state.release.id, parent, seed, start.samples)
        record = train_record(begun, out, result, member.blob_store.put)
        self._log.append(record.seal(self._secret))
        self._growth.settle(record.shape)
        member.wake()
        losses = _losses(result.held_out)
        member.events(
            "candidate",
            f"Candidate of cycle {record.cycle}: {record.shape}, {counted(record.steps, 'step')}, {losses}.",
            cycle=record.cycle,
            steps=record.steps,
            shape=record.shape,
        )
        self._forget()

    def give_up(self, window: WindowInfo, failure: TrainingFailed) -> bool:
        """Logs that the cycle is given up if its job failed by the same error before; gives whether it did.

        What may be of the machine, or of how this node was started, is never a reason.
        """
        before, self._failed = self._failed, (window.index, failure.error) if failure.is_of_the_job else None
        if self._failed is None or before != self._failed:
            return False
        member = self._member
        record = GivenUpCycle(
            run=member.state.run,
            cycle=window.record.cycle,
            window=window.index,
            reason=failure.error,
            text=re.sub("[^ -~]", "?", str(failure))[:MOST_TEXT],
        )
        self._log.append(record.seal(self._secret))
        member.wake()
        member.events(
            "given-up",
            f"Cycle {record.cycle} is given up, the next window waits for new plies: {failure}",
            cycle=record.cycle,
            reason=record.reason,
        )
        return True

    def folder(self, cycle: int) -> Path:
        """Where a cycle's files lie."""
        return self._member.home.training / f"cycle-{cycle:05d}"

    def _write_job(self, out: Path, window: WindowInfo, start: Start, seed: bytes) -> Path:
        parent = start.parent
        job = TrainingJob(
            out=out,
            manifest=window.manifest,
            batches=window.window.batches,
            blobs=self._member.blob_store,
            parent_state=None if parent is None else self._state_file(parent),
            parent_step=start.steps,
            shape=start.shape,
            seed=seed,
            samples=cycle_samples(self._member.state.cycles, window, start.last, is_grown=start.is_grown),
            device=self._device,
            state_every_steps=STATE_EVERY_STEPS,
            workers=WORKERS,
            cache=self._member.home.training / "rows",
        )
        return job.store()

    def _state_file(self, record: TrainRecord) -> Path:
        """The blob of a record's last state, or where the trainer left it, should the blob be gone."""
        blob = self._member.blob_store.path(record.state)
        return blob if blob.is_file() else state_file(self.folder(record.cycle), record.steps)

    def _forget(self) -> None:
        """Deletes train states: the trainer's own files of logged cycles, and the blobs of old cycles. Weights and networks
        stay."""
        state, blobs = self._member.state, self._member.blob_store
        for training in state.trainings:
            for file in self.folder(training.record.cycle).glob("train_state-*.bin"):
                file.unlink()
        for digest in named_states(state) - kept_states(state).keys():
            blobs.delete(digest)


def _losses(held_out: Losses | None) -> str:
    if held_out is None:
        return "no games held out yet to measure losses on"
    return "losses " + ", ".join(f"{name} {value:.3f}" for name, value in sorted(held_out.to_json().items()))
