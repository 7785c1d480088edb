"""The train record of what a trainer left in a cycle's folder: `train_record`.

Spec: `docs/spec/training.md` ("train-record"), `docs/spec/train-state.md` ("Result"). The coordinator logs it; who repeats a
cycle compares it with the logged one. States, network and weights are named by their blob digests.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.types import ZERO
from protocol.window import LossReport, RoundingReport, StatePoint, TrainRecord
from verification.cycles import WindowInfo

LOSSES = ("policy", "opponent_policy", "value", "score", "ownership")


@dataclass(frozen=True, slots=True)
class Begun:
    """What a cycle begins with: its window, the newest release, its parent state (None: the seeded network), its seed, and
    the run's samples before it."""

    window: WindowInfo
    base: bytes
    parent_state: bytes | None
    seed: bytes
    samples: int


def load_result(folder: Path) -> dict[str, Any]:
    """The result of a training that is done."""
    found = json.loads((folder / "result.json").read_bytes())
    assert isinstance(found, dict)
    return found


def state_file(folder: Path, step: int) -> Path:
    """Where a trainer leaves the state after a step of the run."""
    return folder / f"train_state-{step:010d}.bin"


def train_record(begun: Begun, folder: Path, result: dict[str, Any], put: Callable[[bytes], bytes]) -> TrainRecord:
    """The record of the finished cycle in `folder`; `put` gets each file's bytes and gives its blob digest."""
    network = (folder / result["network"]["path"]).read_bytes()
    weights = (folder / result["weights"]["path"]).read_bytes()
    states = tuple(
        StatePoint(point["step"], put(state_file(folder, point["step"]).read_bytes())) for point in result["states"]
    )
    return TrainRecord(
        run=begun.window.record.run,
        cycle=begun.window.record.cycle,
        window=begun.window.index,
        base=begun.base,
        parent_state=begun.parent_state or ZERO,
        state=states[-1].state,
        steps=result["step"],
        samples=begun.samples + result["samples"],
        seed=begun.seed,
        network=hashlib.sha256(network).digest(),
        network_blob=put(network),
        network_len=len(network),
        weights_blob=put(weights),
        torch=result["torch"],
        threads=result["threads"],
        capability=result["capability"],
        states=states,
        shape=result["shape"],
        processes=result["processes"],
        device=result["device"],
        rounding=_rounding(result["rounding"]),
        losses=_loss_report(result["loss_rows"], result["losses"]),
        held_out=_loss_report(result["held_out_rows"], result["held_out_losses"]),
        batches=result["batches"],
        skipped=len(result["skipped"]),
    )


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
