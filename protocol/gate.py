"""Gating: who plays which pairs, what came out, and the record that makes a candidate a release or refuses it.

Spec: `docs/spec/gate.md`. Game 2j of pair j gives the candidate black, game 2j + 1 white; both use the pair's seed.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import I64, U16, U32, U64, Digest, Key, Range

GameResult = Annotated[int, Range(0, 2)]
"""0 draw, 1 black wins, 2 white wins."""


@dataclass(frozen=True, slots=True)
class GateAssignment(Record):
    """The coordinator gives pairs `first_pair` up to `first_pair + pairs` of the candidate at a log index to a player."""

    NAME = "gate-assignment"

    run: Digest
    candidate: U64
    base: Digest
    player: Key
    first_pair: U64
    pairs: U16


@dataclass(frozen=True, slots=True)
class GatePair(Record):
    """Results of the game with the candidate as black, and of the game with the candidate as white."""

    as_black: GameResult
    as_white: GameResult

    @property
    def score(self) -> int:
        """The candidate's score in quarters: 0 to 4."""
        return {1: 2, 2: 0, 0: 1}[self.as_black] + {1: 0, 2: 2, 0: 1}[self.as_white]


@dataclass(frozen=True, slots=True)
class GateResult(Record):
    """Signed by `player`: results of an assignment's pairs in order; the blob holds their games as a batch's content."""

    NAME = "gate-result"

    run: Digest
    assignment: U64
    player: Key
    pairs: tuple[GatePair, ...]
    batch_root: Digest
    blob_digest: Digest
    blob_len: U32
    raw_len: U32


@dataclass(frozen=True, slots=True)
class GateRecord(Record):
    """The verdict on a candidate: `counts[k]` pairs of score k/4 on the contiguous prefix of `pairs`, llr in millionths."""

    NAME = "gate-record"

    run: Digest
    candidate: U64
    base: Digest
    pairs: U64
    counts: tuple[U64, ...]
    llr_micro: I64
    passed: bool
    refused_since_base: U32

    def check(self) -> None:
        if len(self.counts) != 5 or sum(self.counts) != self.pairs:
            raise self.fail("five counts must sum to the pairs")
