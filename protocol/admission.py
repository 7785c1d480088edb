"""The coordinator's decisions on batches, one entry a checkpoint, in full, so that the log alone rebuilds the state.

Spec: `docs/spec/admission.md`.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import U64, Choice, Digest, Key, Ppm, Words

ACCEPTED = "accepted"
REJECTED = "rejected"
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """What became of the batch whose header is logged at `index`: accepted, rejected, or lost (its bytes never came).

    `order` is the entry that ordered the check: the header's own index, or a later one that had the batch looked at again.
    """

    index: U64
    order: U64
    outcome: Annotated[str, Choice((ACCEPTED, REJECTED, LOST))]
    verifier: Key
    q_ppm: Ppm
    reason: Words


@dataclass(frozen=True, slots=True)
class Admission(Record):
    """Decisions in the order they take effect."""

    NAME = "admission"

    run: Digest
    decisions: tuple[Decision, ...]
