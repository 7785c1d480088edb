"""Proofs as nodes make them from their copy of the log: resting on a cosigned head that covers what they need.

Spec: `docs/spec/proof.md`.
"""

from node.member import Member
from protocol.batch import Batch
from protocol.checkpoint import SignedNote
from protocol.errors import ProtocolError
from verification.faults import LogFault
from verification.proof_builder import Evidence, build_proof, least_size
from verification.subjects import BatchSubject
from verification.witness import WITNESS_PREFIX, verify_head

MOST_HEADS = 1000


def cosigned_note(member: Member, size: int) -> bytes | None:
    """The note of a head of at least `size` entries that enough witnesses cosigned; None while there is none."""
    state = member.state
    for head in member.store.heads_with(WITNESS_PREFIX.encode(), MOST_HEADS, state.size):
        if head.size < size:
            return None
        try:
            verify_head(SignedNote.parse(head.note), state.run, state.roles.root_at(head.size))
        except (ProtocolError, LogFault):
            continue
        return head.note
    return None


def note_for(member: Member, check: BatchSubject, against_verifier: bool = False) -> bytes | None:
    """The note that a proof about a batch can rest on; None while there is none."""
    size = least_size(member.state, check, against_verifier)
    return None if size is None else cosigned_note(member, size)


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
