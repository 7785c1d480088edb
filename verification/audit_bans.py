"""Audit, a part of the head: every ban rests on a proof that holds.

Spec: `docs/spec/audit.md` ("Head"). The log state sees that a ban's proof is made of logged words of the banned key; that
they are wrong shows here, by one search or a look at the rules, with networks from the folder.
"""

from native.errors import EngineError
from native.network import Kernel
from protocol.entries import parse_entry
from protocol.errors import ProtocolError
from protocol.proof import Ban
from verification.audit_release import network_file
from verification.auditing import AuditFault, Folder
from verification.proof import NetworkMissing, check_proof
from verification.state import LogState


def audit_bans(folder: Folder, state: LogState, entries: list[bytes], kernel: Kernel) -> str:
    """Checks the proof of every ban; says how many hold, nothing without any, or raises AuditFault."""

    def network_of(digest: bytes) -> bytes | None:
        release = next((each for each in state.releases.all if each.network == digest), None)
        return None if release is None else network_file(folder, state, release)

    for subject in state.convictions.banned:
        index = state.convictions.banned_at(subject)
        record = parse_entry(entries[index]).record
        if not isinstance(record, Ban):
            raise AuditFault(f"Entry {index} is not a ban.")
        try:
            finding = check_proof(record.proof, state.run, network_of, kernel)
        except (ProtocolError, NetworkMissing, EngineError) as error:
            raise AuditFault(f"The ban at entry {index} is not proved: {error}") from error
        if finding.subject != subject:
            raise AuditFault(f"The ban at entry {index} has a proof against another key.")
    count = len(state.convictions.banned)
    return f" Keys banned by a proof that holds: {count}." if count else ""
