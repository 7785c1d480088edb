"""Audit, a part of the release: the documents that speak for it to other people's tools.

Spec: `docs/spec/audit.md` ("Release"), `docs/spec/statement.md`. That the statement is signed by the coordinator, whose role
is valid there, is the log state's doing; here its documents, and what it says of the weights, are held against the files.
"""

from hashlib import sha256

from protocol.statement.sshsig import fingerprint
from verification.audit.folder import AuditFault, Folder
from verification.releases import ReleaseInfo
from verification.state import LogState


def audit_statement(folder: Folder, state: LogState, release: ReleaseInfo, weights: bytes) -> str:
    """Checks a logged release's documents; says which entry signs them or that none does, or raises AuditFault."""
    statement = state.statements.find(release.index)
    if statement is None:
        return "It has no statement yet."
    if sha256(weights).digest() != statement.record.weights_sha256:
        raise AuditFault(
            f"The statement at entry {statement.index} names other weights than those of release {release.name}."
        )
    for path, data in statement.files().items():
        if folder.read(path) != data:
            raise AuditFault(f"File {path} is not what the statement at entry {statement.index} signs.")
    signer = fingerprint(statement.documents.key)
    return f"Its statement, at entry {statement.index}, signs {len(statement.files())} documents by {signer}."
