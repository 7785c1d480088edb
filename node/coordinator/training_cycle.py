"""One training cycle of the coordinator: commits the window, has it trained, logs the record that becomes the candidate.

Spec: `docs/spec/training.md`, `docs/spec/train-state.md`. What is done is read from the log, so a killed coordinator goes on
where it was: a committed window is trained, a trained one logged, each once. Refused candidates chain by train state.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from node.coordinator.log_writer import LogWriter
from node.coordinator.trainer_process import Train
from node.disk.files import write_file
from node.member import Member
from protocol.ed25519 import SecretKey
from protocol.types import ZERO
from protocol.window import LossReport, RoundingReport, StatePoint, TrainRecord, WindowCommitment
from protocol.words import counted
from verification.cycles import WindowInfo
from verification.identities import BatchInfo

STATE_EVERY_STEPS = 1000
KEEP_CYCLES = 4
LOSSES = ("policy", "opponent_policy", "value", "score", "ownership")


class TrainingCycle:
    """Windows and train records of one coordinator."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter, train: Train) -> None:
        self._train = train
        self._member = member
        self._secret = secret
        self._log = log
        self.progress: dict[str, Any] = {}

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
        parent = member.state.trainings[-1].record if member.state.trainings else None
        out = self.folder(window.record.cycle)
        job = self._write_job(out, window, parent, seed)
        await self._train(job, self._report)
        result = json.loads((out / "result.json").read_bytes())
        record = self._record(window, parent, seed, out, result)
        self._log.append(record.seal(self._secret))
        member.wake()
        member.events(
            "candidate",
            f"Candidate of cycle {record.cycle}: {counted(record.steps, 'step')}, {_losses(result)}.",
            cycle=record.cycle,
            steps=record.steps,
        )
        self._forget(record.cycle)

    def folder(self, cycle: int) -> Path:
        """Where a cycle's files lie."""
        return self._member.home.training / f"cycle-{cycle:05d}"

    def _write_job(self, out: Path, window: WindowInfo, parent: TrainRecord | None, seed: bytes) -> Path:
        state = self._member.state
        earlier = state.windows[-2].record.total_rows if len(state.windows) > 1 else 0
        new_rows = window.record.total_rows - earlier
        training = state.manifest.training
        payload = out / "manifest"
        write_file(payload, state.manifest.encode())
        job = {
            "out": str(out),
            "manifest": str(payload),
            "manifest_digest": state.manifest_digest.hex(),
            "batches": [self._batch(batch) for batch in window.window.batches],
            "parent_state": None if parent is None else str(self._state_file(parent)),
            "parent_step": 0 if parent is None else parent.steps,
            "shape": state.manifest.network.shape if parent is None else parent.shape,
            "seed": seed.hex(),
            "samples": max(1, min(training.samples_per_cycle, new_rows * training.samples_per_row_milli // 1000)),
            "device": "cpu",
            "threads": training.threads,
            "state_every_steps": STATE_EVERY_STEPS,
            "workers": 1,
            "cache": None,
        }
        path = out / "job.json"
        write_file(path, json.dumps(job, indent=1).encode())
        return path

    def _batch(self, batch: BatchInfo) -> dict[str, str | int]:
        return {
            "path": str(self._member.blob_store.path(batch.header.blob_digest)),
            "raw_len": batch.header.raw_len,
            "blob_digest": batch.header.blob_digest.hex(),
            "header_digest": batch.digest.hex(),
        }

    def _state_file(self, record: TrainRecord) -> Path:
        return self.folder(record.cycle) / f"train_state-{record.steps:010d}.bin"

    async def _report(self, event: dict[str, Any]) -> None:
        if event.get("event") == "progress":
            self.progress = event
        elif event.get("event") == "skipped":
            self._member.events("skipped", f"Batch {event.get('batch')} was skipped: {event.get('why')}")

    def _record(
        self, window: WindowInfo, parent: TrainRecord | None, seed: bytes, out: Path, result: dict[str, Any]
    ) -> TrainRecord:
        member, state = self._member, self._member.state
        network = (out / result["network"]["path"]).read_bytes()
        weights = (out / result["weights"]["path"]).read_bytes()
        return TrainRecord(
            run=state.run,
            cycle=window.record.cycle,
            window=window.index,
            base=state.release.id,
            parent_state=ZERO if parent is None else parent.state,
            state=bytes.fromhex(result["state"]["digest"]),
            steps=result["step"],
            samples=(0 if parent is None else parent.samples) + result["samples"],
            seed=seed,
            network=hashlib.sha256(network).digest(),
            network_blob=member.blob_store.put(network),
            network_len=len(network),
            weights_blob=member.blob_store.put(weights),
            torch=result["torch"],
            threads=result["threads"],
            capability=result["capability"],
            states=tuple(StatePoint(point["step"], bytes.fromhex(point["digest"])) for point in result["states"]),
            shape=state.manifest.network.shape if parent is None else parent.shape,
            processes=result.get("processes", 1),
            device=result.get("device", "cpu"),
            rounding=_rounding(result["rounding"]),
            losses=_loss_report(result.get("loss_rows", result["samples"]), result["losses"]),
            held_out=_loss_report(result.get("held_out_rows", 1), result["held_out_losses"]),
            batches=window.record.batches - len(result["skipped"]),
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
        value_error_micro=_micro(found.get("value_error", found["value_error_squared"] ** 0.5)),
        same_move_ppm=_micro(found["same_first_move"]),
    )


def _micro(value: float) -> int:
    """Millionths; a divergence a rounding error below 0 is 0."""
    return max(0, round(value * 1e6))


def _losses(result: dict[str, Any]) -> str:
    losses = ", ".join(f"{name} {value:.3f}" for name, value in sorted(result["held_out_losses"].items()))
    return f"losses {losses}" if losses else "no games held out yet to measure losses on"
