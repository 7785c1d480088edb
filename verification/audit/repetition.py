"""What an audit asks of who repeats training, and what that answers: `Task`, `Repeated`, `Repeat`.

Spec: `docs/spec/audit.md` ("Retrain"), `docs/spec/training.md` ("Repeating"). Who trains is a callable: nothing here imports
torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from protocol.window import TrainRecord
from verification.training import CyclePlan, Segment


class Unrepeatable(Exception):
    """One sentence about why training could not be repeated here, which says nothing about the record."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides the last bits besides the job."""

    torch: str
    device: str
    capability: str

    @classmethod
    def of(cls, record: TrainRecord) -> Self:
        """The one that a record names."""
        return cls(record.torch, record.device, record.capability)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the repeated state's weights are from the logged one's: the largest and the root mean square difference, as
    shares of the weights' own root mean square. `policy_divergence`: of the exported networks, in nats, if both are there.
    """

    largest: float
    rms: float
    policy_divergence: float | None


@dataclass(frozen=True, slots=True)
class Task:
    """What to repeat: a segment of a cycle, or (None) the whole with its export. `machine`: as the record names it.

    `blob` gives a blob's bytes, checked (AuditFault for wrong ones), or None; `step` hears how many steps are done of how
    many.
    """

    plan: CyclePlan
    segment: Segment | None
    blob: Callable[[bytes], bytes | None]
    step: Callable[[int, int], None]

    @property
    def machine(self) -> Machine:
        """What the record was made with."""
        return Machine.of(self.plan.record)


@dataclass(frozen=True, slots=True)
class Repeated:
    """What came out: the blob digest of the last state, how many batches were read and left out, and of a whole cycle the
    record it gives. `distance`: where the state is another than the logged one, and that is at hand; `wrong`: why the two
    cannot be compared."""

    machine: Machine
    state: bytes
    batches: int
    skipped: int
    record: TrainRecord | None
    distance: Distance | None
    wrong: str = ""


class Repeat(Protocol):
    """Trains what a task says, in a folder of its own."""

    def __call__(self, task: Task) -> Repeated:
        """Raises Unrepeatable where it cannot, AuditFault where what is logged cannot be trained."""
        ...
