"""A verifier's signed word on a batch or on gate games, and the later opening of the traces that back it.

Spec: `docs/spec/verdict.md`.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from protocol.proof import PLY, RULES, SETUP
from protocol.record import Record
from protocol.types import U16, U32, U64, Choice, Digest, Key, Semantics, Words

ACCEPT = "accept"
REJECT = "reject"
BLOB = "blob"
"""Evidence that the whole blob shows: its form, its lengths, its root."""


@dataclass(frozen=True, slots=True)
class Verdict(Record):
    """Signed by `verifier` about the header or gate result with digest `subject`.

    `index` is the entry that ordered the check: the subject's own, or a later one that has it looked at again.

    `drawn` lists the replayed games in rising order, also when none was. `work` binds the trace digests (D) of every
    replayed ply. A rejection has a reason and says what shows it: the blob, or the setup, the rules or the search of one
    `game` (for a search: at absolute ply `ply`).
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
    evidence: Annotated[str, Choice(("", BLOB, SETUP, RULES, PLY))]
    game: U16
    ply: U16
    reason: Words
    work: Digest

    def check(self) -> None:
        if any(a >= b for a, b in pairwise(self.drawn)):
            raise self.fail("drawn games must rise")
        if (self.outcome == ACCEPT) != (self.reason == ""):
            raise self.fail("a rejection, and only it, has a reason")
        if (self.outcome == ACCEPT) != (self.evidence == ""):
            raise self.fail("a rejection, and only it, has evidence")
        if (self.game and self.evidence not in (SETUP, RULES, PLY)) or (self.ply and self.evidence != PLY):
            raise self.fail("the evidence is not of a game or ply")


@dataclass(frozen=True, slots=True)
class TraceOpening(Record):
    """Signed by `verifier`: the blob that holds the D of every replayed ply, 32 bytes each in order of game and ply.

    `subject` and `index` are its verdict's.
    """

    NAME = "trace-opening"

    run: Digest
    verifier: Key
    subject: Digest
    index: U64
    blob_digest: Digest
    plies: U32
