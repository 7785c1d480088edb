"""A training on Leela Zero's positions, from a job to a weights file: `run`.

Whatever ends the process, the same job goes on from its newest state and ends in the same bytes. `result.json` is written
last, so a training that has one is whole.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch

from trainer import pin
from trainer.errors import BadTensors, Interrupted
from trainer.events import Events
from trainer.files import store
from trainer.folder import held
from trainer.learning.group import ALONE
from trainer.leela_zero.job import LeelaZeroJob
from trainer.leela_zero.learner import PARTS, LeelaZeroLearner
from trainer.leela_zero.positions import Positions
from trainer.metrics import EVERY_STEPS, Metrics
from trainer.network.leela_zero import LeelaZeroNet

RESULT: Final = "result.json"
STATE: Final = "leela_zero_state.bin"
WEIGHTS: Final = "weights.txt.gz"
_MEASURE_BATCHES: Final = 50


def run(job: LeelaZeroJob, events: Events, is_stopping: Callable[[], bool]) -> None:
    """Trains what is left of the job; raises TrainerError, Interrupted once `is_stopping` and a state is saved."""
    pin.pin(job.policy.threads, job.device)
    with held(job.out, ALONE, is_stopping, events.note):
        finished = _finished(job)
        if finished is None:
            finished = _train(job, events, is_stopping)
        events.done(job.out, finished)


def _train(job: LeelaZeroJob, events: Events, is_stopping: Callable[[], bool]) -> dict[str, Any]:
    policy = job.policy
    positions = Positions(job.positions, job.positions_digest, job.seed, policy.held_out_ppm)
    learner = _begin(job)
    events.begin(learner.done, job.steps, policy.minibatch)
    with Metrics(job.out, job.digest(), learner.done, events.note) as metrics:
        while learner.done < job.steps:
            if is_stopping():
                store(job.out / STATE, learner.encode())
                raise Interrupted(
                    f"Interrupted after {learner.done} of {job.steps} steps; the same job goes on from there."
                )
            learner.step(positions.draw(learner.done, policy.minibatch))
            losses = dict(zip(PARTS, learner.running.tolist(), strict=True))
            if learner.done % EVERY_STEPS == 0 or learner.done == job.steps:
                metrics.write(learner.done, losses)
            events.progress(learner.done, losses)
            if learner.done % job.state_every_steps == 0 or learner.done == job.steps:
                store(job.out / STATE, learner.encode())
    return _finish(job, learner, positions)


def _begin(job: LeelaZeroJob) -> LeelaZeroLearner:
    """From the state in the folder, if it is this job's."""
    try:
        return LeelaZeroLearner.parse((job.out / STATE).read_bytes(), job)
    except (BadTensors, OSError):
        return LeelaZeroLearner(job)


def _finish(job: LeelaZeroJob, learner: LeelaZeroLearner, positions: Positions) -> dict[str, Any]:
    """Writes the averaged network's weights and the result."""
    size = job.policy.minibatch
    net = learner.averaged(positions.draw(job.steps + i, size) for i in range(_MEASURE_BATCHES))
    data = gzip.compress(net.weights().encode(), mtime=0)
    digest = store(job.out / WEIGHTS, data)
    result = {
        "job": job.digest().hex(),
        "weights": {"path": WEIGHTS, "digest": digest.hex()},
        "blocks": job.blocks,
        "channels": job.channels,
        "steps": job.steps,
        "samples": job.steps * size,
        "positions": len(positions),
        "losses": dict(zip(PARTS, learner.running.tolist(), strict=True)),
        "held_out": len(positions.held_out),
        "held_out_losses": _held_out(learner, net, positions, size),
        "torch": torch.__version__,
        "device": job.device,
    }
    store(job.out / RESULT, (json.dumps(result, indent=1) + "\n").encode())
    return result


@torch.no_grad()
def _held_out(learner: LeelaZeroLearner, net: LeelaZeroNet, positions: Positions, size: int) -> dict[str, float]:
    """Mean losses of the averaged network over the positions that were held out; empty without any."""
    total = torch.zeros(len(PARTS), dtype=torch.float64)
    for batch in positions.batches(positions.held_out, size):
        total += learner.losses(net, batch.to(learner.device)).double().cpu() * len(batch.won)
    count = len(positions.held_out)
    return dict(zip(PARTS, (total / count).tolist(), strict=True)) if count else {}


def _finished(job: LeelaZeroJob) -> dict[str, Any] | None:
    """The result of this job if it is there and its weights are what it says."""
    try:
        result = json.loads((job.out / RESULT).read_bytes())
        is_ours = result["job"] == job.digest().hex() and result["weights"]["digest"] == _sha256(job.out / WEIGHTS)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(result) if is_ours else None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
