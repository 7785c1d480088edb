"""One training cycle of the coordinator: commits the window, has it trained, logs the record that becomes the candidate.

Spec: `docs/spec/training.md`, `docs/spec/train-state.md`. What is done is read from the log, so a killed coordinator goes on
where it was: a committed window is trained, a trained one logged, each once; one that cannot be trained is given up, and the
next one waited for. Refused candidates chain by train state.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.coordinator.growth import Growth
from node.coordinator.log_writer import LogWriter
from node.coordinator.trainer_process import Train, TrainingFailed
from node.coordinator.training_progress import TrainingProgress
from node.member import Member
from node.training.job_file import TrainingJob, samples_of
from protocol.ed25519 import SecretKey
from protocol.types import ZERO
from protocol.window import GivenUpCycle, LossReport, RoundingReport, StatePoint, TrainRecord, WindowCommitment
from protocol.words import counted
from verification.cycles import WindowInfo

STATE_EVERY_STEPS = 1000
KEEP_CYCLES = 4
WORKERS = 1
"""Processes that read and lay out data beside the trainer's own; they decide no byte."""
MOST_TEXT = 200
"""Characters that a record of a cycle given up has for the trainer's sentence."""
LOSSES = ("policy", "opponent_policy", "value", "score", "ownership")


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
    def progress(self) -> dict[str, Any]:
        """What the trainer said last of how far it is; empty before that."""
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
        result = json.loads((out / "result.json").read_bytes())
        record = self._record(window, start, seed, out, result)
        self._log.append(record.seal(self._secret))
        self._growth.settle(record.shape)
        member.wake()
        member.events(
            "candidate",
            f"Candidate of cycle {record.cycle}: {record.shape}, {counted(record.steps, 'step')}, {_losses(result)}.",
            cycle=record.cycle,
            steps=record.steps,
            shape=record.shape,
        )
        self._forget(record.cycle)

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
            samples=self._samples(window, start),
            device=self._device,
            state_every_steps=STATE_EVERY_STEPS,
            workers=WORKERS,
            cache=self._member.home.training / "rows",
        )
        return job.store()

    def _samples(self, window: WindowInfo, start: Start) -> int:
        """Those of the rows that no cycle trained on; a grown network has the whole window as new."""
        before = None if start.last is None else self._member.state.cycles.window_at(start.last.window)
        earlier = 0 if before is None else before.record.total_rows
        rows = window.record.rows if start.is_grown else window.record.total_rows - earlier
        return samples_of(rows, window.manifest.training, is_new=start.is_grown)

    def _state_file(self, record: TrainRecord) -> Path:
        return self.folder(record.cycle) / f"train_state-{record.steps:010d}.bin"

    def _record(self, window: WindowInfo, start: Start, seed: bytes, out: Path, result: dict[str, Any]) -> TrainRecord:
        member, state = self._member, self._member.state
        network = (out / result["network"]["path"]).read_bytes()
        weights = (out / result["weights"]["path"]).read_bytes()
        return TrainRecord(
            run=state.run,
            cycle=window.record.cycle,
            window=window.index,
            base=state.release.id,
            parent_state=ZERO if start.parent is None else start.parent.state,
            state=bytes.fromhex(result["state"]["digest"]),
            steps=result["step"],
            samples=start.samples + result["samples"],
            seed=seed,
            network=hashlib.sha256(network).digest(),
            network_blob=member.blob_store.put(network),
            network_len=len(network),
            weights_blob=member.blob_store.put(weights),
            torch=result["torch"],
            threads=result["threads"],
            capability=result["capability"],
            states=tuple(StatePoint(point["step"], bytes.fromhex(point["digest"])) for point in result["states"]),
            shape=result["shape"],
            processes=result["processes"],
            device=result["device"],
            rounding=_rounding(result["rounding"]),
            losses=_loss_report(result["loss_rows"], result["losses"]),
            held_out=_loss_report(result["held_out_rows"], result["held_out_losses"]),
            batches=result["batches"],
            skipped=len(result["skipped"]),
        )

    def _forget(self, cycle: int) -> None:
        """Deletes train states of old cycles; weights and networks stay as blobs."""
        for old in range(cycle - KEEP_CYCLES + 1):
            for file in self.folder(old).glob("train_state-*.bin"):
                file.unlink()


def _loss_report(rows: int, losses: dict[str, float]) -> LossReport:
    """Losses in millionths; without any, nothing was measured."""
    if not losses:
        return LossReport(0, 0, 0, 0, 0, 0)
    return LossReport(rows, **{f"{name}_micro": _micro(losses[f"{name}_loss"]) for name in LOSSES})


def _rounding(found: dict[str, Any]) -> RoundingReport:
    return RoundingReport(
        rows=found["rows"],
        policy_divergence_micro=_micro(found["policy_divergence"]),
        value_error_micro=_micro(found["value_error"]),
        same_move_ppm=_micro(found["same_first_move"]),
    )


def _micro(value: float) -> int:
    """Millionths; a divergence a rounding error below 0 is 0."""
    return max(0, round(value * 1e6))


def _losses(result: dict[str, Any]) -> str:
    losses = ", ".join(f"{name} {value:.3f}" for name, value in sorted(result["held_out_losses"].items()))
    return f"losses {losses}" if losses else "no games held out yet to measure losses on"
