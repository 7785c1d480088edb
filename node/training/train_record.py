"""The train record of what a trainer left in a cycle's folder: `train_record`.

Spec: `docs/spec/training.md` ("train-record"), `docs/spec/train-state.md` ("Result"). The coordinator logs it; who repeats a
cycle compares it with the logged one. States, network and weights are named by their blob digests.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from node.training.result import CycleResult, Losses, Rounding
from protocol.types import ZERO
from protocol.window import LossReport, RoundingReport, StatePoint, TrainRecord
from verification.cycles import WindowInfo


@dataclass(frozen=True, slots=True)
class Begun:
    """What a cycle begins with: its window, the newest release, its parent state (None: the seeded network), its seed, and
    the run's samples before it."""

    window: WindowInfo
    base: bytes
    parent_state: bytes | None
    seed: bytes
    samples: int


def state_file(folder: Path, step: int) -> Path:
    """Where a trainer leaves the state after a step of the run."""
    return folder / f"train_state-{step:010d}.bin"


def train_record(begun: Begun, folder: Path, result: CycleResult, put: Callable[[bytes], bytes]) -> TrainRecord:
    """The record of the finished cycle in `folder`; `put` gets each file's bytes and gives its blob digest."""
    trained = result.trained
    network = (folder / result.network).read_bytes()
    weights = (folder / result.weights).read_bytes()
    states = tuple(StatePoint(step, put(state_file(folder, step).read_bytes())) for step in trained.states)
    return TrainRecord(
        run=begun.window.record.run,
        cycle=begun.window.record.cycle,
        window=begun.window.index,
        base=begun.base,
        parent_state=begun.parent_state or ZERO,
        state=states[-1].state,
        steps=trained.step,
        samples=begun.samples + result.samples,
        seed=begun.seed,
        network=hashlib.sha256(network).digest(),
        network_blob=put(network),
        network_len=len(network),
        weights_blob=put(weights),
        torch=trained.torch,
        threads=trained.threads,
        capability=trained.capability,
        states=states,
        shape=trained.shape,
        processes=trained.processes,
        device=trained.device,
        rounding=_rounding_report(result.rounding),
        losses=_loss_report(result.losses),
        held_out=_loss_report(result.held_out),
        batches=trained.batches,
        skipped=trained.skipped,
    )


def _loss_report(losses: Losses | None) -> LossReport:
    """Losses in millionths; zeros where nothing was measured."""
    if losses is None:
        return LossReport(0, 0, 0, 0, 0, 0)
    return LossReport(
        rows=losses.rows,
        policy_micro=_micro(losses.policy_loss),
        opponent_policy_micro=_micro(losses.opponent_policy_loss),
        value_micro=_micro(losses.value_loss),
        score_micro=_micro(losses.score_loss),
        ownership_micro=_micro(losses.ownership_loss),
    )


def _rounding_report(rounding: Rounding) -> RoundingReport:
    return RoundingReport(
        rows=rounding.rows,
        policy_divergence_micro=_micro(rounding.policy_divergence),
        value_error_micro=_micro(rounding.value_error),
        same_move_ppm=_micro(rounding.same_first_move),
    )


def _micro(value: float) -> int:
    """Millionths; a divergence a rounding error below 0 is 0."""
    return max(0, round(value * 1e6))
