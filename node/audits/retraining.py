"""Repeats logged training with the trainer's own process, for an audit: `Retraining`.

Spec: `docs/spec/audit.md` ("Retrain"), `docs/spec/train-state.md` ("Job", "Comparing"). What a cycle is comes from the log,
its batches and states from the audited folder, checked by their digests; all is laid into a temporary folder. The judgement
is `verification.audit.retrain`'s.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import trio

from node.disk.blob_store import BlobStore
from node.disk.files import write_file
from node.json_record import value_of
from node.training.errors import TrainingFailed
from node.training.events import Event, Progress
from node.training.job_file import JobSegment, TrainingJob
from node.training.result import load_result, load_segment
from node.training.train_record import Begun, state_file, train_record
from node.training.trainer_process import train
from protocol.blob import blob_digest
from protocol.types import ZERO
from protocol.window import TrainRecord
from verification.audit.folder import AuditFault
from verification.audit.repetition import Distance, Machine, Repeated, Task, Unrepeatable
from verification.training import STATE_EVERY_STEPS

WORKERS: Final = 1
"""Processes that read and lay out data; they decide no byte."""
CHOICES: Final = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")
"""What of the environment chooses kernels: set as a record names it."""
OF_THE_LOG: Final = ("no-rows", "policy-not-finite", "value-off-range", "repeated-game", "bad-state")
"""Errors of the trainer that come of what is logged, on any machine."""


class Retraining:
    """See `verification.audit.repetition.Repeat`."""

    def __call__(self, task: Task) -> Repeated:
        """Trains in a temporary folder; see `Repeat`."""
        with TemporaryDirectory(prefix="gonode-retrain-") as folder:
            return _Repetition(task, Path(folder).absolute()).run()


class _Repetition:
    """One task in its folder."""

    def __init__(self, task: Task, folder: Path) -> None:
        self._task, self._plan, self._folder = task, task.plan, folder
        self._blobs = BlobStore(folder / "public")

    def run(self) -> Repeated:
        task, plan, segment = self._task, self._plan, self._task.segment
        for batch in plan.window.window.batches:
            self._lay(batch.header.blob_digest, f"the batch of entry {batch.index}")
        if (start := plan.parent if segment is None else segment.parent) is not None:
            self._lay(start, "a train state")
        job = self._trained(task.machine.device)
        if segment is None:
            result = load_result(job.out)
            trained = result.trained
            base, seed = plan.record.base, plan.record.seed
            begun = Begun(plan.window, base, plan.parent, seed, plan.parent_samples)
            record = train_record(begun, job.out, result, blob_digest)
            state, logged = record.state, plan.record.state
        else:
            trained = load_segment(job.out)
            record, logged = None, segment.state
            state = blob_digest(state_file(job.out, trained.step).read_bytes())
        distance, wrong = None, ""
        try:
            distance = None if state == logged else self._distance(job.path, logged, record)
        except AuditFault as fault:
            wrong = str(fault)
        return Repeated(
            machine=Machine(trained.torch, trained.device, trained.capability),
            state=state,
            batches=trained.batches,
            skipped=trained.skipped,
            record=record,
            distance=distance,
            wrong=wrong,
        )

    def _trained(self, device: str) -> TrainingJob:
        """The job, done; on the CPU where the record's device is not here."""
        job = self._job(device)
        job.store()
        try:
            trio.run(train, job.path, self._hear, 0.0, environment_of(self._task.machine.capability))
        except TrainingFailed as failure:
            if failure.error == "no-device" and device != "cpu":
                return self._trained("cpu")
            if failure.error in OF_THE_LOG:
                raise AuditFault(
                    f"What is logged of cycle {self._plan.record.cycle} cannot be trained: {failure}"
                ) from None
            raise Unrepeatable(str(failure)) from None
        return job

    def _job(self, device: str) -> TrainingJob:
        plan, segment = self._plan, self._task.segment
        parent, part = plan.parent, None
        if segment is not None:
            state = segment.parent if segment.start else None
            parent = None if segment.start else plan.parent
            part = JobSegment(None if state is None else self._blobs.path(state), plan.parent or ZERO, segment.end)
        return TrainingJob(
            out=self._folder / f"cycle-{device}",
            manifest=plan.manifest,
            batches=plan.window.window.batches,
            blobs=self._blobs,
            parent_state=None if parent is None else self._blobs.path(parent),
            parent_step=plan.parent_step,
            shape=plan.record.shape,
            seed=plan.record.seed,
            samples=plan.samples,
            device=device,
            state_every_steps=STATE_EVERY_STEPS,
            workers=WORKERS,
            cache=self._folder / "rows",
            segment=part,
        )

    async def _hear(self, event: Event) -> None:
        if isinstance(event, Progress):
            self._task.step(event.step, event.steps)

    def _lay(self, digest: bytes, what: str) -> None:
        """Puts a blob where the job looks for it; raises Unrepeatable, or AuditFault for a wrong one."""
        data = self._task.blob(digest)
        if data is None:
            raise Unrepeatable(f"{what}, blob {digest.hex()[:16]}, is not here.")
        write_file(self._blobs.path(digest), data, is_durable=False)

    def _distance(self, job: Path, logged: bytes, record: TrainRecord | None) -> Distance | None:
        """How far what came out is from what is logged; None where that is not here."""
        state = self._task.blob(logged)
        if state is None:
            return None
        folder = self._folder / "logged"
        write_file(folder / "state.bin", state, is_durable=False)
        network = None if record is None else self._task.blob(self._plan.record.network_blob)
        if network is not None:
            write_file(folder / "network.bin", network, is_durable=False)
        return compared(job, folder)


def environment_of(capability: str) -> dict[str, str]:
    """This process's environment with the kernels that a record names, as far as it names any."""
    environment = dict(os.environ)
    for name in CHOICES:
        named = re.search(rf"(?:^| ){name}=([A-Za-z0-9_.,]{{1,40}})(?: |$)", capability)
        if named is not None:
            environment.pop(name, None)
            if named[1] != "default":
                environment[name] = named[1]
    return environment


def distance_of(event: Any) -> Distance:
    """What the event `compared` says; raises JsonFault."""
    state = value_of(event, "state", dict)
    network = value_of(event, "network", dict) if "network" in event else None
    return Distance(
        largest=value_of(state, "largest", float),
        rms=value_of(state, "rms", float),
        policy_divergence=None if network is None else value_of(network, "policy_divergence", float),
    )


def compared(job: Path, folder: Path) -> Distance:
    """What `python -m trainer compare` says; raises AuditFault where what is logged is no train state or network."""
    command = [sys.executable, "-P", "-m", "trainer", "compare", str(job), str(folder)]  # -P: as for `train`
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    for line in reversed(ended.stdout.splitlines()):
        event = json.loads(line)
        if event.get("event") == "compared":
            return distance_of(event)
        if event.get("error") == "bad-tensors":
            raise AuditFault(f"what is logged cannot be compared with. {event.get('why')}")
    raise Unrepeatable(f"comparing failed: {ended.stderr.strip().splitlines()[-1:] or ended.returncode}")
