"""Audit, a part of the head: every ban and every pardon rests on a proof that holds.

Spec: `docs/spec/audit.md` ("Head"). The log state sees that a proof rests on this log and words of its subject; that they
are wrong shows here, by one search or a look at the rules, with networks from the folder.
"""

from native.errors import EngineError
from native.network import Kernel
from protocol.entries import parse_entry
from protocol.errors import ProtocolError
from protocol.proof import CONTRIBUTOR, PLY, Ban, Pardon
from verification.audit.folder import AuditFault, Folder
from verification.audit.release import network_file
from verification.proof import Finding, NetworkMissing, NetworkOf, check_proof
from verification.state import LogState


def audit_bans(folder: Folder, state: LogState, entries: list[bytes], kernel: Kernel) -> str:
    """Checks the proof of every ban and pardon; says how many hold, nothing without any, or raises AuditFault."""

    def network_of(digest: bytes) -> bytes | None:
        release = next((each for each in state.releases.all if each.network == digest), None)
        return None if release is None else network_file(folder, state, release)

    bans = [state.convictions.banned_at(subject) for subject in state.convictions.banned]
    pardons = [index for index in state.convictions.pardons if isinstance(parse_entry(entries[index]).record, Pardon)]
    for index in bans:
        _finding(state, entries, index, network_of, kernel)
    for index in pardons:
        finding = _finding(state, entries, index, network_of, kernel)
        if (finding.accused, finding.kind) != (CONTRIBUTOR, PLY):
            raise AuditFault(f"The pardon at entry {index} is for something else than a contributor's wrong ply.")
    said = f" Keys banned by a proof that holds: {len(bans)}." if bans else ""
    return said + (f" Wrong plies pardoned, each proved: {len(pardons)}." if pardons else "")


def _finding(state: LogState, entries: list[bytes], index: int, network_of: NetworkOf, kernel: Kernel) -> Finding:
    """What the proof in the ban or pardon at an entry shows; raises AuditFault unless it holds."""
    record = parse_entry(entries[index]).record
    if not isinstance(record, Ban | Pardon):
        raise AuditFault(f"Entry {index} is neither a ban nor a pardon.")
    what = f"The {record.NAME} at entry {index}"
    try:
        finding = check_proof(record.proof, state.run, network_of, kernel)
    except (ProtocolError, NetworkMissing, EngineError) as error:
        raise AuditFault(f"{what} is not proved: {error}") from error
    if finding.subject != record.subject:
        raise AuditFault(f"{what} has a proof against another key.")
    return finding
