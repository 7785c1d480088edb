"""One training cycle, from a job to its result: `run`.

Spec: docs/spec/train-state.md. States are written at steps that the job fixes and at an interruption; whatever ends the
process, the same job goes on from the newest of its states and ends in the same bytes. `result.json` is written last, so
a cycle that has one is whole. Of several processes the first alone reads and writes states, and exports. A job with a
segment repeats that part of a cycle, and leaves its last state and a result of fewer fields.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from protocol.manifest import TrainingPolicy
from trainer import pin
from trainer.data.draws import Sampler
from trainer.data.feeder import Feeder
from trainer.data.reader import open_window
from trainer.data.rows import Window
from trainer.errors import BadJob, BadState, BadTensors, Interrupted, ProcessesDiffer, TrainerError
from trainer.events import Events
from trainer.export import export, ranges_of
from trainer.files import store
from trainer.folder import held
from trainer.job import Job
from trainer.learning.group import ALONE, Group
from trainer.learning.learner import Learner
from trainer.learning.state import Position, TrainState
from trainer.metrics import EVERY_STEPS, Metrics
from trainer.network.loss import PARTS

RESULT: Final = "result.json"


def state_name(step: int) -> str:
    """The file name of the state after a step of the run."""
    return f"train_state-{step:010d}.bin"


def run(job: Job, events: Events, is_stopping: Callable[[], bool], group: Group = ALONE) -> None:
    """Runs the cycle, or what is left of it, every process of `group` with the same job.

    Waits while another training is at work in the job's folder. Raises TrainerError; Interrupted once `is_stopping` in any
    process, and a state of the steps done is saved.
    """
    pin.pin(job.threads, job.device)
    if group.size != job.manifest.training.processes:
        raise BadJob(f"The manifest wants {job.manifest.training.processes} processes, and here are {group.size}.")
    with held(job.out, group, is_stopping, events.note):
        _run(job, events, is_stopping, group)


def _run(job: Job, events: Events, is_stopping: Callable[[], bool], group: Group) -> None:
    identity = job.digest()
    finished = _finished(job.out, identity) if group.is_first and job.segment is None else None
    if group.is_any(finished is not None):
        if finished is not None:
            events.done(job.out, finished)
        return
    skipped: list[dict[str, str]] = []

    def skip(batch: Any, why: str) -> None:
        skipped.append({"batch": batch.header_digest.hex(), "why": why})
        events.skipped(batch.name, why)

    window, used = open_window(job, skip, events.note, is_stopping)
    if not group.is_same(identity + used):
        raise BadJob("The processes of the group have different jobs, or could not all read the same batches.")
    _Cycle(job, identity, events, window, used, skipped, group).run(is_stopping)


class _Cycle:
    """The rows, the learner and the states of one cycle."""

    def __init__(
        self,
        job: Job,
        identity: bytes,
        events: Events,
        window: Window,
        used: bytes,
        skipped: list[dict[str, str]],
        group: Group,
    ) -> None:
        self._job, self._events, self._window, self._used, self._skipped = job, events, window, used, skipped
        self._group = group
        # What was read decides the result as much as what was asked for: a state of other rows is no state of ours.
        self._identity = hashlib.sha256(identity + used).digest()
        self._public_identity = identity
        self._policy: TrainingPolicy = job.manifest.training
        self._numbers = window.numbers(held_out=False)
        self._end = job.steps if job.segment is None else job.segment.until
        self._learner, self._position = self._start()

    def run(self, is_stopping: Callable[[], bool]) -> None:
        job, learner, group = self._job, self._learner, self._group
        sampler = Sampler(job.seed, self._numbers, self._policy.minibatch, (group.rank, group.size))
        self._events.begin(self._position.done, self._end, self._policy.minibatch)
        with self._metrics() as metrics, Feeder(self._window, sampler, job.workers, self._events.note) as feeder:
            for done in range(self._position.done, self._end):
                if group.is_any(is_stopping()):
                    if done and not self._is_recorded(done):
                        self._save(done)
                    raise Interrupted(
                        f"Interrupted after {done} of {self._end} steps; the same job goes on from there."
                    )
                if done == job.first_quantised:
                    self._quantise()
                try:
                    learner.step(feeder.minibatch(done), done)
                except TrainerError as error:
                    raise type(error)(f"{error} {self._last_good()}") from error
                losses = dict(zip(PARTS, learner.running.tolist(), strict=True))
                if metrics is not None and ((done + 1) % EVERY_STEPS == 0 or done + 1 == self._end):
                    metrics.write(learner.step_number, losses)
                self._events.progress(done + 1, losses, feeder.waited_s)
                if (done + 1) % job.state_every_steps == 0 and done + 1 < self._end:
                    self._record(done + 1)
        self._record(self._end)
        if group.is_first:
            self._finish() if job.segment is None else self._finish_segment()

    def _quantise(self) -> None:
        """From here on the network is trained as it will be rounded: with the first process' ranges, in all of them."""
        ranges = ranges_of(self._learner, self._window, self._job.seed, self._policy) if self._group.is_first else None
        data = self._group.of_first(b"" if ranges is None else ranges.astype("<f8").tobytes())
        self._learner.quantise(np.frombuffer(data, "<f8"))

    def _metrics(self) -> AbstractContextManager[Metrics | None]:
        if not self._group.is_first:
            return nullcontext()
        return Metrics(self._job.out, self._public_identity, self._learner.step_number, self._events.note)

    def _start(self) -> tuple[Learner, Position]:
        """From the newest state of this very cycle, else the segment's or the parent's, else the seeded network."""
        job, group = self._job, self._group
        state = self._newest() if group.is_first else None
        data = group.of_first(b"" if state is None else state.encode())
        if not data:
            learner = Learner(job.manifest, job.seed, group, shape=job.shape, born=job.parent_step)
            return learner, Position(self._identity, 0, ())
        try:
            state = TrainState.parse(data)
            return Learner.resume(job.manifest, state, group), state.position
        except BadTensors as error:
            raise BadState(f"The job's parent state cannot be used: {error}") from error

    def _newest(self) -> TrainState | None:
        """The state to go on from, with its place in this cycle; None: the seeded network."""
        job = self._job
        for path in self._state_files():
            try:
                state, digest = TrainState.load(path)
            except (BadTensors, OSError):
                continue
            if state.position.job == self._identity:
                return self._placed(state, digest)
        try:
            if job.segment is not None and job.segment.state is not None:
                state, digest = TrainState.load(job.segment.state)
                self._verify_start(state, job.parent_step + state.position.done)
                if not 0 < state.position.done < job.segment.until:
                    raise BadTensors(f"The state is after {state.position.done} steps, outside of the segment.")
                return self._placed(state, digest)
            if job.parent_state is None:
                return None
            state, _ = TrainState.load(job.parent_state)
            self._verify_start(state, job.parent_step)
            return dataclasses.replace(state, position=Position(self._identity, 0, ()), ranges=np.zeros(0))
        except (BadTensors, OSError) as error:
            raise BadState(f"The job's parent state cannot be used: {error}") from error

    def _placed(self, state: TrainState, digest: bytes) -> TrainState:
        """A state of this cycle, listed among the recorded ones if it is one."""
        listed = state.position.states
        if self._is_recorded(state.position.done):
            listed = (*listed, (state.step, digest))
        return dataclasses.replace(state, position=Position(self._identity, state.position.done, listed))

    def _verify_start(self, state: TrainState, step: int) -> None:
        if state.step != step:
            raise BadTensors(f"The parent state is of step {state.step}, not {step}.")
        if state.shape != self._job.shape:
            raise BadTensors(f"The parent state is of {state.shape.encode()}, not {self._job.shape.encode()}.")

    def _state_files(self) -> list[Path]:
        """Files in `out` whose names are those of states within this cycle, newest first."""
        job = self._job
        names = [path.name for path in job.out.glob("train_state-*.bin")]
        first, last = state_name(job.parent_step + 1), state_name(job.parent_step + self._end)
        return [job.out / name for name in sorted(names, reverse=True) if first <= name <= last]

    def _is_recorded(self, done: int) -> bool:
        return done == self._job.steps or (done > 0 and done % self._job.state_every_steps == 0)

    def _save(self, done: int) -> bytes:
        """Writes the state, which has to be the same in every process; gives its digest."""
        self._position = dataclasses.replace(self._position, done=done)
        data = self._learner.state(self._position).encode()
        digest = hashlib.sha256(data).digest()
        if not self._group.is_same(digest):
            raise ProcessesDiffer(f"The processes computed different weights by step {done}. {self._last_good()}")
        if self._group.is_first:
            store(self._job.out / state_name(self._learner.step_number), data)
        return digest

    def _record(self, done: int) -> None:
        """Saves a state that the result lists; nothing to do when it was resumed from."""
        step = self._learner.step_number
        if any(listed == step for listed, _ in self._position.states):
            return
        digest = self._save(done)
        self._position = dataclasses.replace(self._position, states=(*self._position.states, (step, digest)))

    def _last_good(self) -> str:
        states = self._position.states
        return f"The last good state is that of step {states[-1][0] if states else self._job.parent_step}."

    def _facts(self) -> dict[str, Any]:
        """What the results of whole cycles and of segments both say."""
        job, step = self._job, self._learner.step_number
        states = self._position.states
        return {
            "job": self._public_identity.hex(),
            "shape": job.shape.encode(),
            "step": step,
            "batches": len(job.batches) - len(self._skipped),
            "headers_used": self._used.hex(),
            "skipped": self._skipped,
            "parent_state": job.parent_digest.hex(),
            "state": {"path": state_name(step), "digest": states[-1][1].hex()},
            "states": [{"step": step, "digest": digest.hex()} for step, digest in states],
            "torch": torch.__version__,
            "device": job.device,
            "processes": self._group.size,
            "threads": job.threads,
            "capability": pin.capability(job.device),
        }

    def _finish_segment(self) -> None:
        """Writes the result of a segment."""
        result = self._facts() | {"steps": self._end}
        store(self._job.out / RESULT, (json.dumps(result, indent=1) + "\n").encode())
        self._events.done(self._job.out, result)

    def _finish(self) -> None:
        """Exports the averaged weights and writes the result."""
        job, learner, out = self._job, self._learner, self._job.out
        self._events.exporting()
        exported = export(learner, self._window, job.seed, self._policy, out)
        result = self._facts() | {
            "steps": job.steps,
            "samples": job.steps * self._policy.minibatch,
            "rows": len(self._window),
            **exported.files(),
            "network_len": exported.network_len,
            "losses": dict(zip(PARTS, learner.running.tolist(), strict=True)),
            "loss_rows": job.steps * self._policy.minibatch,
            "held_out_losses": exported.held_out,
            "held_out_rows": exported.held_out_rows,
            "rounding": dataclasses.asdict(exported.rounding),
        }
        store(out / RESULT, (json.dumps(result, indent=1) + "\n").encode())
        listed = {state_name(step) for step, _ in self._position.states}
        for path in self._state_files():
            if path.name not in listed:
                path.unlink()
        self._events.done(out, result)


def _finished(out: Path, identity: bytes) -> dict[str, Any] | None:
    """The result of this job if it is there and its files are what it says."""
    try:
        result = json.loads((out / RESULT).read_bytes())
        if result["job"] != identity.hex():
            return None
        files = [result[key] for key in ("state", "network", "weights")]
        whole = all(_sha256(out / item["path"]) == item["digest"] for item in files)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return result if whole else None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
