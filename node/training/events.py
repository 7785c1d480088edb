"""What a trainer's process says, one JSON object a line: `parse_event`.

Spec: `docs/spec/train-state.md` ("Events"). Rates and times are the trainer's own. Other lines are none of these: the
result is read from its file.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from node.training.json_values import value_of


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the steps of a cycle or segment are, and what they gave. `waiting_share`: of the time, for data."""

    step: int
    steps: int
    loss: float
    policy_loss: float
    value_loss: float
    samples_per_s: int
    waiting_share: float
    seconds_left: float

    def __post_init__(self) -> None:
        if not 0 <= self.step <= self.steps or self.steps < 1:
            raise ValueError(f"step {self.step} of {self.steps}")

    @classmethod
    def parse(cls, table: Any) -> Self:
        """Of an event, or of what a coordinator's status has of it; raises KeyError or ValueError."""
        return cls(
            step=value_of(table, "step", int),
            steps=value_of(table, "steps", int),
            loss=value_of(table, "loss", float),
            policy_loss=value_of(table, "policy_loss", float),
            value_loss=value_of(table, "value_loss", float),
            samples_per_s=value_of(table, "samples_per_s", int),
            waiting_share=value_of(table, "waiting_share", float),
            seconds_left=value_of(table, "seconds_left", float),
        )

    def to_json(self) -> dict[str, Any]:
        """The event's fields, as a status shows them."""
        return {"event": "progress", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A batch was left out."""

    batch: str
    why: str

    def __str__(self) -> str:
        return f"Batch {self.batch} was skipped: {self.why}"


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person may want to know; training goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Exporting:
    """Training is over, the network is being rounded."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing more comes. `error`: the name of the trainer's error."""

    why: str
    error: str


Event = Progress | Skipped | Note | Exporting | Failed


def parse_event(line: bytes) -> Event | None:
    """The event in a line; None for any other line."""
    try:
        table = json.loads(line)
        match value_of(table, "event", str):
            case "progress":
                return Progress.parse(table)
            case "skipped":
                return Skipped(value_of(table, "batch", str), value_of(table, "why", str))
            case "note":
                return Note(value_of(table, "text", str))
            case "exporting":
                return Exporting()
            case "failed":
                return Failed(value_of(table, "why", str), value_of(table, "error", str))
    except (KeyError, ValueError, RecursionError):
        pass
    return None
