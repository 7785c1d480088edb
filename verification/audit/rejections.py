"""Audit, a part of the head: every batch that was rejected for its blob alone has a blob that is wrong.

Spec: `docs/spec/audit.md` ("Head"). No proof shows such a rejection, so a coordinator and one verifier could put anybody
out by it; but whoever has the blob can make the same cheap checks.
"""

from protocol.admission import REJECTED
from protocol.layout import blob_path
from protocol.verdict import BLOB
from protocol.words import counted
from verification.admission import check_batch
from verification.audit.folder import AuditFault, Folder
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.state import LogState


def audit_rejections(folder: Folder, state: LogState) -> str:
    """Checks the blobs of batches rejected for them, as far as they are here; says how many, or raises AuditFault."""
    rejected = [batch for batch in state.batches.all if _is_for_blob(batch)]
    here = [batch for batch in rejected if folder.find(blob_path(batch.header.blob_digest)) is not None]
    for batch in here:
        blob = folder.blob(batch.header.blob_digest, f"the batch of entry {batch.index}")
        try:
            check_batch(state, batch, blob)
        except Rejected:
            continue
        except LogFault as error:
            raise AuditFault(f"The batch at entry {batch.index} cannot be checked: {error}") from error
        raise AuditFault(f"The batch at entry {batch.index} was rejected for its blob, which is in order.")
    if not rejected:
        return ""
    return f" Batches rejected for their blob: {counted(len(here), 'blob')} wrong indeed, {len(rejected) - len(here)} gone."


def _is_for_blob(batch: BatchInfo) -> bool:
    """Whether a decision on it goes by a verdict that has nothing but the blob to show."""
    rejecting = {each.decision.verifier for each in batch.looks if each.decision and each.decision.outcome == REJECTED}
    verdicts = (each.verdict for each in batch.looks)
    return any(each is not None and each.evidence == BLOB and each.verifier in rejecting for each in verdicts)
