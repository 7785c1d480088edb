"""What a trainer's process says, one JSON object a line: `parse_event`.

Spec: `docs/spec/train-state.md` ("Events"). Rates and times are the trainer's own. Other lines are none of these: the
result is read from its file.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from node.json_record import encode_record, parse_record, value_of

PROGRESS: Final = "progress"


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

    def to_json(self) -> dict[str, Any]:
        """The event's fields, as a status shows them."""
        return {"event": PROGRESS, **encode_record(self)}


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

_KINDS: Final[dict[str, type[Event]]] = {
    PROGRESS: Progress,
    "skipped": Skipped,
    "note": Note,
    "exporting": Exporting,
    "failed": Failed,
}


def parse_event(line: bytes) -> Event | None:
    """The event in a line; None for any other line."""
    try:
        table = json.loads(line)
        kind = _KINDS.get(value_of(table, "event", str))
        return None if kind is None else parse_record(kind, table)
    except (ValueError, RecursionError):
        return None
