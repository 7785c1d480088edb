"""What `gonode train --from-leela-zero` was asked for, and the job that it becomes in a folder of its own.

The training files of a folder are read and packed into one file there, once; settings are those of a run's training, on top
of the default run's. The folder keeps what was asked for, so that the same command goes on with it.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from native.netfile import Architecture
from node.disk.files import move_file, naming, write_file
from node.exchange.errors import TrainingFileError
from node.exchange.leela_zero.files import read_positions, training_files
from node.founding.layers import Choices, LayerError
from node.founding.manifest_file import ManifestFileError, default_table, parse_part
from node.json_record import JsonFault, value_of
from node.training.errors import TrainingFailed
from node.training.request import LEAST_STATE_STEPS, MOST_SAMPLES, MOST_STATES, OtherTraining
from protocol.manifest import NetworkSpec, TrainingPolicy
from verification.training import samples_of

POSITIONS: Final = "positions.bin"
ASKED: Final = "asked.json"
STATE: Final = "leela_zero_state.bin"
KIND: Final = "leela-zero"
"""The trainer's command for such a job."""


@dataclass(frozen=True, slots=True)
class LeelaZeroRequest:
    """The options of the command; None: as the default run with `choices` on top says."""

    data: Path
    out: Path | None
    choices: Choices
    network: Architecture | None
    steps: int | None
    samples: int | None
    threads: int | None
    device: str

    def asked(self) -> dict[str, Any]:
        """What makes it the same request again."""
        return {
            "from-leela-zero": str(self.data.resolve()),
            "preset": list(self.choices.presets),
            "set": list(self.choices.settings),
            "network": None if self.network is None else self.network.encode(),
            "steps": self.steps,
            "samples": self.samples,
            "threads": self.threads,
            "device": self.device,
        }


@dataclass(frozen=True, slots=True)
class LeelaZeroPrepared:
    """A job that lies in its folder."""

    job: Path
    shape: str
    files: int
    positions: int
    is_old: bool


@dataclass(frozen=True, slots=True)
class LeelaZeroResult:
    """What a finished training says of itself; losses are those of the positions held out where there are any."""

    weights: Path
    steps: int
    samples: int
    positions: int
    losses: dict[str, float]
    held_out_losses: dict[str, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """The network and the training that a request comes to."""

    shape: Architecture
    policy: TrainingPolicy


def plan_of(request: LeelaZeroRequest) -> Plan:
    """The default run's network and training with what was asked for; raises ManifestFileError."""
    default = default_table()
    try:
        table = request.choices.lay_over({name: default[name] for name in ("network", "training")})
    except LayerError as error:
        raise ManifestFileError(str(error)) from None
    if request.network is not None:
        table["network"] |= {"blocks": request.network.blocks, "channels": request.network.channels}
    if request.threads is not None:
        table["training"] |= {"threads": request.threads}
    try:
        network = parse_part(NetworkSpec, table["network"], "network")
        policy = parse_part(TrainingPolicy, table["training"], "training")
    except ManifestFileError as error:
        raise ManifestFileError(f"{request.choices.describe('the default run')}: {error}") from None
    if policy.processes != 1:
        raise ManifestFileError("A training on positions of Leela Zero takes one process (training.processes).")
    return Plan(Architecture(network.blocks, network.channels), policy)


def folder_of(request: LeelaZeroRequest, plan: Plan) -> Path:
    """Where the training lies: as asked, else named after the network, in the current directory."""
    return Path(f"train-leela-zero-{plan.shape.encode()}") if request.out is None else request.out


def prepare(request: LeelaZeroRequest, plan: Plan, out: Path) -> LeelaZeroPrepared:
    """Makes the job in `out`, or finds the one that the same request made there. A training that never saved a state gives
    way to another.

    Nobody else may work in `out` meanwhile. Raises OtherTraining, TrainingFileError or OSError.
    """
    out = out.absolute()
    asked = request.asked()
    made = _find(out, asked)
    is_old = made is not None
    if made is None:
        made = _write(request, plan, out)
        write_file(out / ASKED, json.dumps({"asked": asked, "made": made}, indent=1).encode())
    return LeelaZeroPrepared(out / "job.json", plan.shape.encode(), made["files"], made["positions"], is_old)


def load_result(folder: Path) -> LeelaZeroResult:
    """What a training left in its folder; raises TrainingFailed."""
    path = folder / "result.json"
    try:
        table = json.loads(path.read_bytes())
        return LeelaZeroResult(
            weights=folder / value_of(value_of(table, "weights", dict), "path", str),
            steps=value_of(table, "steps", int),
            samples=value_of(table, "samples", int),
            positions=value_of(table, "positions", int),
            losses={name: float(loss) for name, loss in value_of(table, "losses", dict).items()},
            held_out_losses={name: float(loss) for name, loss in value_of(table, "held_out_losses", dict).items()},
        )
    except (JsonFault, OSError, ValueError, TypeError) as error:
        raise TrainingFailed(f"{path}: the trainer's result cannot be read: {error}.", 2) from None


def _find(out: Path, asked: dict[str, Any]) -> dict[str, int] | None:
    """What the same request made here; None where there is nothing to go on with; raises OtherTraining."""
    try:
        kept = json.loads((out / ASKED).read_bytes())
        before = value_of(kept, "asked", dict)
        made = value_of(kept, "made", dict)
        found = {name: value_of(made, name, int) for name in ("files", "positions")}
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise OtherTraining(f"{out}: {ASKED} is of another training; give another --out.") from None
    other = [name for name, value in asked.items() if before.get(name) != value]
    if other and (out / STATE).exists():
        raise OtherTraining(f"{out}: another training is here (--{other[0]} was another); give another --out.")
    return None if other else found


def _write(request: LeelaZeroRequest, plan: Plan, out: Path) -> dict[str, int]:
    """Packs the positions and writes the job; how many files and positions there were."""
    paths = training_files(request.data)
    out.mkdir(parents=True, exist_ok=True)
    digest, count, packing = sha256(), 0, out / f".{POSITIONS}.new"
    packing.unlink(missing_ok=True)
    try:
        with naming(packing), packing.open("xb") as file:
            for path in paths:
                for position in read_positions(path):
                    data = position.pack()
                    digest.update(data)
                    file.write(data)
                    count += 1
        if not count:
            raise TrainingFileError(f"{request.data}: its training files hold no position.")
        move_file(packing, out / POSITIONS)
    finally:
        packing.unlink(missing_ok=True)
    steps = max(1, _samples(request, plan.policy, count) // plan.policy.minibatch)
    job = {
        "out": str(out),
        "positions": str(out / POSITIONS),
        "positions_digest": digest.hexdigest(),
        "blocks": plan.shape.blocks,
        "channels": plan.shape.channels,
        "policy": plan.policy.encode().hex(),
        "seed": sha256(b"gonode/train-leela-zero/v1\0" + digest.digest()).hexdigest(),
        "steps": steps,
        "device": request.device,
        "state_every_steps": max(LEAST_STATE_STEPS, -(-steps // MOST_STATES)),
    }
    write_file(out / "job.json", json.dumps(job, indent=1).encode())
    return {"files": len(paths), "positions": count}


def _samples(request: LeelaZeroRequest, policy: TrainingPolicy, rows: int) -> int:
    if request.steps is not None:
        return min(MOST_SAMPLES, request.steps * policy.minibatch)
    return samples_of(rows, policy, is_new=True) if request.samples is None else request.samples
