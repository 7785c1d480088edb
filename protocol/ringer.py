"""Ringers: batches with one deliberately wrong game, by which the coordinator tests verifiers.

Spec: `docs/spec/ringer.md`. The commitment is logged before the header, the reveal after the verdict, so that a ringer can
neither be told from an honest batch nor be claimed afterwards.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U16, U64, Digest


@dataclass(frozen=True, slots=True)
class RingerHash(Record):
    """Commits the coordinator to a header that it is going to log: `SHA-256("gonode/ringer/v1\\0" | ...)`."""

    NAME = "ringer-hash"

    run: Digest
    commitment: Digest


@dataclass(frozen=True, slots=True)
class RingerReveal(Record):
    """Opens a commitment: the header at `index` is a ringer whose game `game` is wrong at absolute ply `ply`."""

    NAME = "ringer-reveal"

    run: Digest
    index: U64
    game: U16
    ply: U16
    salt: Digest
