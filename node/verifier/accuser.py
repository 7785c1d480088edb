"""Fraud proofs as a verifier makes them: once a cosigned head covers what they rest on.

Spec: `docs/spec/proof.md`. The coordinator proves by itself what a verdict's evidence says; this proof is the verifier's own
copy, as a file, and spares the coordinator the wait.
"""

import trio

from node.accusation import note_for, prove
from node.disk.files import write_file
from node.member import Member
from protocol.batch import unpack_batch
from protocol.errors import ProtocolError
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.proof_builder import evidence_of

WAIT_S = 60.0


async def accuse(member: Member, batch: BatchInfo, blob: bytes, rejected: Rejected) -> bytes:
    """A proof against a batch's signer, or nothing where only the blob shows the breach or no head covers it in time."""
    evidence = evidence_of(rejected)
    if evidence is None:
        return b""
    with trio.move_on_after(WAIT_S):
        await member.until(lambda: note_for(member, batch))
    try:
        content = unpack_batch(blob, batch.header.raw_len)
        proof = prove(member, batch, content, evidence)
    except (LogFault, ProtocolError) as error:
        member.events("no-proof", f"No proof about entry {batch.index}: {error}")
        return b""
    if proof is None:
        member.events("no-proof", f"No cosigned head covers entry {batch.index}; its verdict goes without a proof.")
        return b""
    path = member.home.proofs / f"entry-{batch.index}.proof"
    write_file(path, proof)
    member.events("proof", f"Proof against {batch.header.peer.hex()[:8]}: gonode proof check {path}", path=str(path))
    return proof
