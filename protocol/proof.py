"""Fraud proofs: one file that shows, to anybody who has the network, that a signed batch holds a wrong ply.

Spec: `docs/spec/proof.md`. A proof carries the whole signed context and no digest of the accuser's: the checker repeats one
search and compares the whole ply record, or recounts the rules.
"""

from dataclasses import dataclass
from typing import Annotated

from protocol.record import Record
from protocol.types import U16, U64, Choice, Digest, EntryBytes, Key, Length

PLY = "ply"
RULES = "rules"
SETUP = "setup"
CONTRIBUTOR = "contributor"
VERIFIER = "verifier"


@dataclass(frozen=True, slots=True)
class LoggedEntry(Record):
    """An entry's bytes with its inclusion proof into the proof's checkpoint."""

    entry: EntryBytes
    index: U64
    path: tuple[Digest, ...]


@dataclass(frozen=True, slots=True)
class FraudProof(Record):
    """`kind`: a ply that replays differently, a breach of the rules, or a setup that the seed does not give.

    `accused`: the contributor who signed the header; or the verifier whose logged verdict, in `verdict`, accepts the drawn
    game, or rejects the batch for this very game or ply although it is right. `root` and `manifest` are versions 1, which
    make the run id; `later` holds the root versions logged since, and at last the manifest version of the header where that
    is another. `game` is the game's leaf, `ply` the ply record (empty unless `kind` is ply).
    """

    NAME = "fraud-proof"

    run: Digest
    kind: Annotated[str, Choice((PLY, RULES, SETUP))]
    accused: Annotated[str, Choice((CONTRIBUTOR, VERIFIER))]
    root: EntryBytes
    manifest: EntryBytes
    later: tuple[LoggedEntry, ...]
    release: EntryBytes
    checkpoint: Annotated[bytes, Length(most=8192)]
    header: LoggedEntry
    registration: LoggedEntry
    shares: LoggedEntry
    verdict: tuple[LoggedEntry, ...]
    game: EntryBytes
    game_index: U16
    game_path: tuple[Digest, ...]
    ply: EntryBytes
    ply_index: U16
    ply_path: tuple[Digest, ...]

    @property
    def logged(self) -> tuple[LoggedEntry, ...]:
        """All entries that it shows to be in the log."""
        return (self.header, self.registration, self.shares, *self.verdict, *self.later)


@dataclass(frozen=True, slots=True)
class Pardon(Record):
    """Logged by the coordinator: the one wrong ply that the proof shows is taken for a fault of `subject`'s machine."""

    NAME = "pardon"

    run: Digest
    subject: Key
    proof: EntryBytes


@dataclass(frozen=True, slots=True)
class Ban(Record):
    """Logged by the coordinator: `subject` takes part no more, from this index on, for the reason its proof shows."""

    NAME = "ban"

    run: Digest
    subject: Key
    proof: EntryBytes
