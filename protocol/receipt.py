"""What the coordinator says of time and of what it has taken: receipts for contributors, ticks for the log.

Spec: `docs/spec/receipt.md`.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U64, Digest


@dataclass(frozen=True, slots=True)
class Receipt(Record):
    """The header or result with digest `subject` is logged at `index`, with its inclusion proof into the tree of `size`."""

    NAME = "receipt"

    run: Digest
    subject: Digest
    index: U64
    size: U64
    path: tuple[Digest, ...]


@dataclass(frozen=True, slots=True)
class Tick(Record):
    """Logged when nothing else was for a while, so that what is counted in entries comes due. `unix_s` only informs."""

    NAME = "tick"

    run: Digest
    log_size: U64
    unix_s: U64
