"""A verifier's signed word on a batch or on gate games, and the later opening of the traces that back it.

Spec: `docs/spec/verdict.md`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from protocol.record import Record
from protocol.types import U16, U32, U64, Choice, Digest, Key, Semantics, Words

ACCEPT = "accept"
REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Verdict(Record):
    """Signed by `verifier` about the header or gate result with digest `subject`, logged at `index`.

    `drawn` lists the replayed games in rising order, also when none was. `work` binds the trace digests (D) of every
    replayed ply. `reason` is empty on accept.
    """

    NAME = "verdict"

    run: Digest
    subject: Digest
    index: U64
    epoch: U32
    verifier: Key
    semantics: Semantics
    drawn: tuple[U16, ...]
    outcome: Annotated[str, Choice((ACCEPT, REJECT))]
    reason: Words
    work: Digest

    def check(self) -> None:
        if any(a >= b for a, b in pairwise(self.drawn)):
            raise self.fail("drawn games must rise")
        if (self.outcome == ACCEPT) != (self.reason == ""):
            raise self.fail("a rejection, and only it, has a reason")


@dataclass(frozen=True, slots=True)
class TraceOpening(Record):
    """Signed by `verifier`: the blob that holds the D of every replayed ply, 32 bytes each in order of game and ply."""

    NAME = "trace-opening"

    run: Digest
    verifier: Key
    subject: Digest
    blob_digest: Digest
    plies: U32
