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
from protocol.verdict import BLOB, Verdict
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo, batch_of
from verification.state import LogState
from verification.subjects import BatchSubject

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


def evidence_in(verdict: Verdict) -> Evidence | None:
    """What a rejecting verdict points to; None for what only the blob shows, and for one that accepts."""
    if verdict.evidence in ("", BLOB):
        return None
    return Evidence(verdict.evidence, verdict.game, verdict.ply if verdict.evidence == PLY else None)


def least_size(state: LogState, check: BatchSubject, against_verifier: bool = False) -> int | None:
    """How many entries the checkpoint of a proof has to cover, which `build_proof` makes of the same; None: none can yet."""
    batch = batch_of(check)
    registration = state.registration(batch.header.owner)
    found = None if registration is None else state.beacons.find(registration.index)
    if found is None:
        return None
    return max(batch.index, found.set_index, check.verdict_index if against_verifier else 0) + 1


def build_proof(
    state: LogState,
    entry_at: EntryAt,
    note: bytes,
    check: BatchSubject,
    content: Batch,
    evidence: Evidence,
    against_verifier: bool = False,
) -> bytes:
    """The payload of a proof about a logged batch, resting on the cosigned checkpoint `note`.

    `check` is the batch itself, or an order to look at it again; a proof against a verifier is about the verdict on that.
    Raises LogFault when the checkpoint does not cover all that the proof needs, or the proof is over 64 KiB.
    """
    batch = batch_of(check)
    size = Checkpoint.parse(SignedNote.parse(note).text).size
    registration = state.registration(batch.header.owner)
    found = None if registration is None else state.beacons.find(registration.index)
    if registration is None or found is None:
        raise LogFault("The owner of the batch's seeds has no join nonce.")

    def logged(index: int) -> LoggedEntry:
        if index >= size or size > state.size:
            raise LogFault(f"The checkpoint of {size} entries does not cover entry {index}.")
        return LoggedEntry(entry_at(index), index, state.tree.inclusion_proof(index, size))

    if evidence.game >= len(content.games):
        raise LogFault(f"The batch has no game {evidence.game}.")
    game = content.games[evidence.game]
    ply = evidence.ply if evidence.ply is not None and evidence.ply in game.plies else None
    later = [index for index, root in state.roots.all if root.version > 1 and index < size]
    manifest = next(
        index for index, each in state.roles.manifests if state.roles.manifest_by_digest(batch.header.manifest) is each
    )
    try:
        return FraudProof(
            run=state.run,
            kind=evidence.kind,
            accused=VERIFIER if against_verifier else CONTRIBUTOR,
            root=entry_at(0),
            manifest=entry_at(1),
            later=tuple(logged(index) for index in [*later, *([manifest] if manifest > 1 else [])]),
            release=_release_payload(state, entry_at, batch),
            checkpoint=note,
            header=logged(batch.index),
            registration=logged(registration.index),
            shares=logged(found.set_index),
            verdict=(logged(check.verdict_index),) if against_verifier else (),
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
