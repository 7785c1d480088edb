"""How far a repeated training is from the one that was logged: `compare`.

Spec: docs/spec/train-state.md ("Comparing"). For trainings that do not repeat bit for bit: of another torch build, another
processor or device. It says how far, and judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from native.errors import EngineError
from native.netfile import NetworkFile
from trainer import pin
from trainer.cycle import RESULT
from trainer.data.minibatch import Minibatch
from trainer.data.reader import open_window
from trainer.errors import BadJob, BadTensors
from trainer.events import Events
from trainer.export import NETWORK, calibration_parts
from trainer.integer.rounding import divergence
from trainer.integer.twin import Twin, planes_u8
from trainer.job import Job
from trainer.learning.state import TrainState
from trainer.learning.tensors import Array

STATE: Final = "state.bin"


def compare(job: Job, folder: Path, events: Events) -> dict[str, Any]:
    """What the job left in its folder against the logged files `state.bin` and `network.bin`, those that are in `folder`;
    raises TrainerError.

    `state`: `largest` and root mean square (`rms`) difference of the weights, as shares of the root mean square of the
    logged ones. `network`: mean divergence of the policies from the logged ones on the calibration rows, in nats.
    """
    pin.pin(job.threads)
    found: dict[str, Any] = {}
    if (logged := folder / STATE).is_file():
        found["state"] = _distance(_weights(_repeated_state(job)), _weights(_read(logged)))
    if (logged := folder / NETWORK).is_file():
        window, _ = open_window(job, lambda batch, why: events.skipped(batch.name, why), events.note)
        parts = calibration_parts(window, job.seed, job.manifest.training)
        found["network"] = _policies(_network(logged), _network(job.out / NETWORK), parts)
    return found


def _repeated_state(job: Job) -> bytes:
    try:
        return _read(job.out / json.loads(_read(job.out / RESULT))["state"]["path"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadJob("The job's result cannot be read.") from error


def _weights(state: bytes) -> Mapping[str, Array]:
    return TrainState.parse(state).weights


def _distance(repeated: Mapping[str, Array], logged: Mapping[str, Array]) -> dict[str, float]:
    """Of all tensors together, in f64; raises BadTensors where they are not of one network, or not numbers."""
    shapes = [{name: array.shape for name, array in tensors.items()} for tensors in (repeated, logged)]
    if shapes[0] != shapes[1] or not shapes[0]:
        raise BadTensors("The logged train state is of another network.")
    one, other = (
        np.concatenate([tensors[name].ravel().astype(np.float64) for name in logged]) for tensors in (repeated, logged)
    )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise BadTensors("The logged train state holds something that is not a number.")
    size = _rms(other) or 1.0
    return {"largest": float(np.abs(one - other).max()) / size, "rms": _rms(one - other) / size}


def _rms(values: Array) -> float:
    return float(np.sqrt(np.square(values).mean()))


def _policies(logged: NetworkFile, repeated: NetworkFile, parts: list[Minibatch]) -> dict[str, float]:
    """Mean Kullback-Leibler divergence of the repeated policy from the logged one."""
    if logged.architecture != repeated.architecture:
        raise BadTensors("The logged network has another size.")
    twins, total, rows = (Twin(logged), Twin(repeated)), 0.0, 0
    with torch.no_grad():
        for part in parts:
            there, here = (twin.evaluate(planes_u8(part.planes)).policy for twin in twins)
            total += float(divergence(there, here, part.legal))
            rows += len(part.result)
    return {"policy_divergence": max(0.0, total / max(rows, 1)), "rows": rows}


def _network(path: Path) -> NetworkFile:
    try:
        return NetworkFile.parse(_read(path))
    except EngineError as error:
        raise BadTensors(f"The file {path.name} is no network: {error}") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadJob(f"The file {path} cannot be read: {error.strerror}.") from error
