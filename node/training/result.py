"""What a training left, as its `result.json` says: `load_result` of a whole cycle, `load_segment` of a part repeated.

Spec: `docs/spec/train-state.md` ("Result"). The trainer writes the file last, so a training that has one is done.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from node.json_record import JsonFault, encode_record, parse_record, value_of
from node.training.errors import TrainingFailed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Losses:
    """Mean losses over `rows` rows: the weighted sum, then its parts."""

    rows: int
    loss: float
    policy_loss: float
    opponent_policy_loss: float
    value_loss: float
    score_loss: float
    ownership_loss: float

    @classmethod
    def parse(cls, rows: int, table: Any) -> Self | None:
        """Of the trainer's table; None for the empty one, where nothing was measured. Raises JsonFault."""
        return None if table == {} else parse_record(cls, table, rows=rows)

    def to_json(self) -> dict[str, float]:
        """The trainer's table: all but the rows."""
        return {name: value for name, value in encode_record(self).items() if name != "rows"}


@dataclass(frozen=True, slots=True)
class Rounding:
    """Float against integer outputs on `rows` calibration rows: a mean divergence in nats, differences of values in -1..1
    (root mean square, and the largest), of scores in points (mean), and the share of equal first moves."""

    rows: int
    policy_divergence: float
    value_error: float
    value_error_largest: float
    score_error: float
    same_first_move: float

    def to_json(self) -> dict[str, float]:
        """The trainer's table."""
        return encode_record(self)


@dataclass(frozen=True, slots=True)
class Trained:
    """What every training says. `step`: of the run, at its end; `steps`: of the cycle, done then; `states`: the run's steps
    whose states are recorded; `batches` were read, `skipped` left out."""

    shape: str
    step: int
    steps: int
    batches: int
    skipped: int
    states: tuple[int, ...]
    torch: str
    device: str
    processes: int
    threads: int
    capability: str


@dataclass(frozen=True, slots=True)
class CycleResult:
    """What a whole cycle says besides. `network` and `weights` are names of files in its folder."""

    trained: Trained
    samples: int
    rows: int
    network: str
    weights: str
    losses: Losses
    held_out: Losses | None
    rounding: Rounding


def load_result(folder: Path) -> CycleResult:
    """The result of a cycle that is done; raises TrainingFailed where it is not what a trainer writes."""
    return _load(folder, _cycle)


def load_segment(folder: Path) -> Trained:
    """The result of a segment that is done; raises TrainingFailed likewise."""
    return _load(folder, _segment)


def _load(folder: Path, parse: Callable[[Any], T]) -> T:
    path = folder / "result.json"
    try:
        return parse(json.loads(path.read_bytes()))
    except JsonFault as fault:
        raise TrainingFailed(f"{path}: this is no result of a training ({fault}).", 2) from None
    except (ValueError, RecursionError) as error:
        raise TrainingFailed(f"{path}: this is no result of a training ({type(error).__name__}: {error}).", 2) from None


def _segment(table: Any) -> Trained:
    states = tuple(value_of(point, "step", int) for point in value_of(table, "states", list))
    if not states:
        raise JsonFault("no state is recorded")
    return parse_record(Trained, table, states=states, skipped=len(value_of(table, "skipped", list)))


def _cycle(table: Any) -> CycleResult:
    losses = Losses.parse(value_of(table, "loss_rows", int), value_of(table, "losses", dict))
    if losses is None:
        raise JsonFault("losses are missing")
    return parse_record(
        CycleResult,
        table,
        trained=_segment(table),
        network=value_of(value_of(table, "network", dict), "path", str),
        weights=value_of(value_of(table, "weights", dict), "path", str),
        losses=losses,
        held_out=Losses.parse(value_of(table, "held_out_rows", int), value_of(table, "held_out_losses", dict)),
    )
