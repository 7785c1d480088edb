"""Builds fraud proofs from the log and a batch's content, for `verification.proof` to check.

Spec: `docs/spec/proof.md`. The builder only gathers; a proof that does not hold convinces nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from protocol.batch import Batch, game_path, ply_path
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.proof import CONTRIBUTOR, PLY, RULES, SETUP, VERIFIER, FraudProof, LoggedEntry
from protocol.release import FirstRelease
from protocol.verdict import BLOB
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.state import LogState

EntryAt = Callable[[int], bytes]
"""Gives the bytes of the log entry at an index."""

KINDS = {"setup": SETUP, "counter": SETUP, "illegal move": RULES, "end": RULES, "final score": RULES, "result": RULES}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a batch is wrong: the kind of proof, the game's number, and the absolute ply if `kind` is ply."""

    kind: str
    game: int
    ply: int | None = None


def evidence_of(rejected: Rejected) -> Evidence | None:
    """What a rejection can be proved by; None for what only the blob shows (its digest, form or root)."""
    if rejected.game is None:
        return None
    if rejected.label in KINDS:
        return Evidence(KINDS[rejected.label], rejected.game)
    return None if rejected.ply is None else Evidence(PLY, rejected.game, rejected.ply)


class EvidenceFields(TypedDict):
    """The fields of a verdict that say what shows a rejection."""

    evidence: str
    game: int
    ply: int


def evidence_fields(rejected: Rejected | None) -> EvidenceFields:
    """What a verdict says of a rejection, or of none."""
    evidence = None if rejected is None else evidence_of(rejected)
    if evidence is None:
        return {"evidence": "" if rejected is None else BLOB, "game": 0, "ply": 0}
    return {"evidence": evidence.kind, "game": evidence.game, "ply": evidence.ply or 0}


def build_proof(
    state: LogState,
    entry_at: EntryAt,
    note: bytes,
    batch: BatchInfo,
    content: Batch,
    evidence: Evidence,
    against_verifier: bool = False,
) -> bytes:
    """The payload of a proof about a logged batch, resting on the cosigned checkpoint `note`.

    Raises LogFault when the checkpoint does not cover all that the proof needs, or the proof is over 64 KiB.
    """
    size = Checkpoint.parse(SignedNote.parse(note).text).size
    registration = state.registration(batch.header.peer)
    found = None if registration is None else state.beacons.find(registration.index)
    if registration is None or found is None:
        raise LogFault("The batch's peer has no join nonce.")

    def logged(index: int) -> LoggedEntry:
        if index >= size or size > state.size:
            raise LogFault(f"The checkpoint of {size} entries does not cover entry {index}.")
        return LoggedEntry(entry_at(index), index, state.tree.inclusion_proof(index, size))

    game = content.games[evidence.game]
    ply = evidence.ply
    try:
        return FraudProof(
            run=state.run,
            kind=evidence.kind,
            accused=VERIFIER if against_verifier else CONTRIBUTOR,
            root=entry_at(0),
            manifest=entry_at(1),
            release=_release_payload(state, entry_at, batch),
            checkpoint=note,
            header=logged(batch.index),
            registration=logged(registration.index),
            shares=logged(found.set_index),
            verdict=(logged(batch.verdict_index),) if against_verifier else (),
            game=content.leaves[evidence.game],
            game_index=evidence.game,
            game_path=game_path(content, evidence.game),
            ply=b"" if ply is None else game.record(ply),
            ply_index=0 if ply is None else ply - game.header.opening_moves,
            ply_path=() if ply is None else ply_path(game, ply),
        ).encode()
    except ProtocolError as error:
        raise LogFault(f"The proof cannot be made: {error}") from error


def _release_payload(state: LogState, entry_at: EntryAt, batch: BatchInfo) -> bytes:
    release = state.releases.find(batch.header.release)
    if release is None:
        raise LogFault("The batch's release is not in the log.")
    if release.number == 0:
        return FirstRelease(state.run, release.manifest, 0, release.network).encode()
    return Envelope.parse(entry_at(release.index)).payload
