"""What `gonode train` was asked for, and the job that it becomes in a folder of its own.

Spec: `docs/spec/train-state.md` ("Job"), `docs/spec/training.md` ("Window"). The run's manifest, with other values for its
network, window and training alone, goes to the trainer as it would in a cycle of the run. The folder keeps what was asked
for and the job with its window, so that the same command goes on although the log has grown.
"""

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from native.netfile import Architecture
from node.disk.files import write_file
from node.founding.layers import Choices, LayerError
from node.founding.manifest_file import ManifestFileError, parse_part, table_of
from node.machine.processor import usable_cores
from node.training.admitted import Admitted, NoAdmittedData
from node.training.job_file import TrainingJob
from protocol.manifest import Manifest, NetworkSpec, TrainingPolicy, WindowPolicy
from verification.setup import check_playable
from verification.training import samples_of
from verification.window import window_of

LEAST_STATE_STEPS = 200
MOST_STATES = 20
MOST_WORKERS = 4
MOST_SAMPLES = 2**40
_MADE = {"shape": str, "run": str, "batches": int, "rows": int, "missing": int}
"""What the folder's note says of its job, as in `Prepared`."""


class OtherTraining(ValueError):
    """One sentence about a folder that holds a training which is not the one asked for."""


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """The options of `gonode train`; None: as the run's manifest with `choices` on top says."""

    data: Path
    out: Path | None
    choices: Choices
    network: Architecture | None
    steps: int | None
    samples: int | None
    threads: int | None
    processes: int | None
    device: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job that lies in its folder. `missing`: batches of the window whose blobs the data's folder does not have."""

    job: Path
    shape: str
    run: str
    batches: int
    rows: int
    missing: int
    is_old: bool


def prepare(request: TrainingRequest, admitted: Admitted, manifest: Manifest, out: Path) -> Prepared:
    """Makes the job of `training_manifest` in `out`, or finds the one that the same request made there. A training that
    never saved a state gives way to another.

    Nobody else may work in `out` meanwhile. Raises OtherTraining or NoAdmittedData.
    """
    out = out.absolute()
    asked = _asked(request, admitted)
    found = _find(out, asked)
    if found is not None:
        return Prepared(out / "job.json", **found, is_old=True)
    made = _write(request, admitted, manifest, out)
    write_file(out / "asked.json", json.dumps({"asked": asked, "made": made}, indent=1).encode())
    return Prepared(out / "job.json", **made, is_old=False)


def training_manifest(request: TrainingRequest, admitted: Admitted) -> Manifest:
    """The run's newest manifest with what was asked for; raises ManifestFileError or LogFault."""
    manifest = admitted.state.manifest
    trainings = admitted.state.trainings
    shape = Architecture.parse(trainings[-1].record.shape if trainings else manifest.network.shape)
    table = {
        "network": table_of(manifest.network) | {"blocks": shape.blocks, "channels": shape.channels},
        "window": table_of(manifest.window),
        "training": table_of(manifest.training),
    }
    try:
        table = request.choices.lay_over(table)
    except LayerError as error:
        raise ManifestFileError(str(error)) from None
    if request.network is not None:
        table["network"] |= {"blocks": request.network.blocks, "channels": request.network.channels}
    for name in ("threads", "processes"):
        if (number := getattr(request, name)) is not None:
            table["training"] |= {name: number}
    try:
        found = replace(
            manifest,
            network=parse_part(NetworkSpec, table["network"], "network"),
            window=parse_part(WindowPolicy, table["window"], "window"),
            training=parse_part(TrainingPolicy, table["training"], "training"),
        )
    except ManifestFileError as error:
        raise ManifestFileError(f"{request.choices.describe('the run')}: {error}") from None
    check_playable(found)
    return found


def folder_of(request: TrainingRequest, manifest: Manifest) -> Path:
    """Where the training lies: as asked, else named after the network, in the current directory."""
    return Path(f"train-{manifest.network.shape}") if request.out is None else request.out


def _asked(request: TrainingRequest, admitted: Admitted) -> dict[str, Any]:
    return {
        "run": admitted.state.run.hex(),
        "data": str(request.data.resolve()),
        "presets": list(request.choices.presets),
        "settings": list(request.choices.settings),
        "network": None if request.network is None else request.network.encode(),
        "steps": request.steps,
        "samples": request.samples,
        "threads": request.threads,
        "processes": request.processes,
        "device": request.device,
    }


def _find(out: Path, asked: dict[str, Any]) -> dict[str, Any] | None:
    """What the same request made here; None where there is nothing to go on with; raises OtherTraining."""
    try:
        kept = json.loads((out / "asked.json").read_bytes())
        found, before = dict(kept["made"]), dict(kept["asked"])
        if {name: type(value) for name, value in found.items()} != _MADE:
            raise ValueError("what was made is said in another way")
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise OtherTraining(f"{out}: asked.json is damaged; delete this folder or give another --out.") from None
    other = [name for name, value in asked.items() if before.get(name) != value]
    if other and not any(out.glob("train_state-*.bin")):
        return None
    if other:
        raise OtherTraining(
            f"{out}: another training is here ({_option(other[0])} was {_said(before.get(other[0]))}, now "
            f"{_said(asked[other[0]])}); give another --out."
        )
    return found


def _option(name: str) -> str:
    return {"presets": "--preset", "settings": "--set", "run": "the run"}.get(name, f"--{name}")


def _said(value: Any) -> str:
    if value is None or value == []:
        return "not given"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _write(request: TrainingRequest, admitted: Admitted, manifest: Manifest, out: Path) -> dict[str, Any]:
    """Writes manifest and job; what `Prepared` says of them."""
    window = window_of(admitted.state.batches.released, manifest.window)
    here = [batch for batch in window.batches if admitted.blobs.has(batch.header.blob_digest)]
    rows = sum(batch.header.plies for batch in here)
    if not rows:
        raise NoAdmittedData(
            f"{request.data}: none of the {len(window.batches)} batches of the window lies here; a coordinator's, a "
            "verifier's or a mirror's folder has them."
        )
    samples = _samples(request, manifest.training, rows)
    steps = max(1, samples // manifest.training.minibatch)
    job = TrainingJob(
        out=out,
        manifest=manifest,
        batches=here,
        blobs=admitted.blobs,
        parent_state=None,
        parent_step=0,
        shape=manifest.network.shape,
        seed=sha256(b"gonode/train-alone/v1\0" + admitted.state.run).digest(),
        samples=samples,
        device=request.device,
        state_every_steps=max(LEAST_STATE_STEPS, -(-steps // MOST_STATES)),
        workers=_workers(manifest.training),
        cache=out / "rows",
    )
    job.store()
    return {
        "shape": manifest.network.shape,
        "run": admitted.state.run.hex(),
        "batches": len(here),
        "rows": rows,
        "missing": len(window.batches) - len(here),
    }


def _samples(request: TrainingRequest, policy: TrainingPolicy, rows: int) -> int:
    """As asked, else as for a grown network."""
    if request.steps is not None:
        return min(MOST_SAMPLES, request.steps * policy.minibatch)
    if request.samples is not None:
        return request.samples
    return samples_of(rows, policy, is_new=True)


def _workers(policy: TrainingPolicy) -> int:
    """Processes that read and lay out: as many as cores are left, at least one; they decide no byte."""
    return max(1, min(MOST_WORKERS, usable_cores() - policy.threads * policy.processes))
