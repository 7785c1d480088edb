"""The commitment to a training window, and the record of the training that used it, or of its end without a candidate.

Spec: `docs/spec/training.md`. A window is a pure function of (log prefix, manifest): `verification.window` recomputes it.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import U16, U32, U64, Choice, Digest, Name, Ppm, Shape, Words


@dataclass(frozen=True, slots=True)
class WindowCommitment(Record):
    """The window of a cycle at a prefix of `log_size` entries: SHA-256 over its header digests in log order."""

    NAME = "window"

    run: Digest
    cycle: U32
    log_size: U64
    batches: U32
    games: U64
    rows: U64
    total_rows: U64
    headers: Digest


@dataclass(frozen=True, slots=True)
class StatePoint(Record):
    """The digest of the train state after a step."""

    step: U64
    state: Digest


@dataclass(frozen=True, slots=True)
class LossReport(Record):
    """Mean losses over `rows` in millionths, each without its weight; all 0 when there were no rows."""

    rows: U64
    policy_micro: U64
    opponent_policy_micro: U64
    value_micro: U64
    score_micro: U64
    ownership_micro: U64


@dataclass(frozen=True, slots=True)
class RoundingReport(Record):
    """How far the integer network is from the float one on `rows`.

    Mean divergence of the policies in nats, root mean square difference of values in -1..1, share of equal first moves.
    """

    rows: U32
    policy_divergence_micro: U64
    value_error_micro: U64
    same_move_ppm: Ppm


@dataclass(frozen=True, slots=True)
class TrainRecord(Record):
    """One training cycle: what it started from, what it used, what came out. Its log entry is the gate's candidate.

    `parent_state` is zero for the run's first network and for a grown one. `batches` were used, `skipped` not readable.
    """

    NAME = "train-record"

    run: Digest
    cycle: U32
    window: U64
    base: Digest
    parent_state: Digest
    state: Digest
    steps: U64
    samples: U64
    seed: Digest
    network: Digest
    network_blob: Digest
    network_len: U32
    weights_blob: Digest
    torch: Name
    threads: U16
    capability: Words
    states: tuple[StatePoint, ...]
    shape: Shape
    processes: U16
    device: Annotated[str, Choice(("cpu", "cuda"))]
    rounding: RoundingReport
    losses: LossReport
    held_out: LossReport
    batches: U32
    skipped: U32


@dataclass(frozen=True, slots=True)
class GivenUpCycle(Record):
    """The end of a cycle whose window could not be trained: it has no candidate.

    `reason` is the name of the trainer's error, as `repeated-game`; `text` its sentence, for people.
    """

    NAME = "given-up-cycle"

    run: Digest
    cycle: U32
    window: U64
    reason: Name
    text: Words
