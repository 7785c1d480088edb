"""Fraud proofs as a verifier makes them: once a cosigned head covers what they rest on.

Spec: `docs/spec/proof.md`.
"""

import trio

from node.disk.files import write_file
from node.member import Member
from protocol.batch import parse_batch
from protocol.checkpoint import SignedNote
from protocol.compress import decompress
from protocol.errors import ProtocolError
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.proof_builder import build_proof, evidence_of
from verification.witness import WITNESS_PREFIX, verify_head

WAIT_S = 60.0
MOST_HEADS = 1000


async def accuse(member: Member, batch: BatchInfo, blob: bytes, rejected: Rejected) -> bytes:
    """A proof against a batch's signer, or nothing where only the blob shows the breach or no head covers it in time."""
    evidence = evidence_of(rejected)
    registration = member.state.registration(batch.header.peer)
    shares = None if registration is None else member.state.beacons.find(registration.index)
    if evidence is None or shares is None:
        return b""
    note = None
    with trio.move_on_after(WAIT_S):
        note = await member.until(lambda: cosigned_note(member, max(batch.index, shares.set_index)))
    if note is None:
        member.events("no-proof", f"No cosigned head covers entry {batch.index}; its verdict goes without a proof.")
        return b""
    try:
        content = parse_batch(decompress(blob, batch.header.raw_len))
        proof = build_proof(member.state, member.entry_at, note, batch, content, evidence)
    except (LogFault, ProtocolError) as error:
        member.events("no-proof", f"No proof about entry {batch.index}: {error}")
        return b""
    path = member.home.proofs / f"entry-{batch.index}.proof"
    write_file(path, proof)
    member.events("proof", f"Proof against {batch.header.peer.hex()[:8]}: gonode proof check {path}", path=str(path))
    return proof


def cosigned_note(member: Member, index: int) -> bytes | None:
    """The note of a head that covers the entry at `index` and enough witnesses cosigned; None while there is none."""
    for head in member.store.heads_with(WITNESS_PREFIX.encode(), MOST_HEADS, member.state.size):
        if head.size <= index:
            return None
        try:
            verify_head(SignedNote.parse(head.note), member.state.run, member.state.root)
        except ProtocolError:
            continue
        return head.note
    return None
