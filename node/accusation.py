"""Proofs as nodes make them from their copy of the log: resting on a cosigned head that covers what they need.

Spec: `docs/spec/proof.md`.
"""

from node.disk.cosigned import newest_cosigned
from node.member import Member
from protocol.batch import Batch
from verification.proof_builder import Evidence, build_proof, least_size
from verification.subjects import BatchSubject


def note_for(member: Member, check: BatchSubject, against_verifier: bool = False) -> bytes | None:
    """The note that a proof about a batch can rest on; None while there is none."""
    size = least_size(member.state, check, against_verifier)
    head = None if size is None else newest_cosigned(member.store, member.state, least=size)
    return None if head is None else head.note


def prove(
    member: Member, check: BatchSubject, content: Batch, evidence: Evidence, against_verifier: bool = False
) -> bytes | None:
    """A proof against a batch's signer, or the verifier whose verdict `check` has; None while no cosigned head covers it.

    Raises LogFault where none can be made.
    """
    note = note_for(member, check, against_verifier)
    if note is None:
        return None
    return build_proof(member.state, member.entry_at, note, check, content, evidence, against_verifier)
