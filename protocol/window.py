"""The commitment to a training window, and the record of the training that used it.

Spec: `docs/spec/training.md`. A window is a pure function of (log prefix, manifest): `verification.window` recomputes it.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U16, U32, U64, Digest, Name, Words


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
class TrainRecord(Record):
    """One training cycle: what it started from, what it used, what came out. Its log entry is the gate's candidate."""

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
