"""The coordinator's decisions: checks the traces behind each verdict and logs what became of each batch.

Spec: `docs/spec/admission.md`. The state says which decision is due; this part adds the one thing the log cannot show:
that the opened traces are those of the replayed games.
"""

from node.coordinator.log_writer import LogWriter
from node.member import Member
from protocol.admission import Admission, Decision
from protocol.batch import parse_batch
from protocol.compress import decompress
from protocol.ed25519 import SecretKey
from protocol.errors import ProtocolError
from verification.faults import LogFault
from verification.identities import BatchInfo
from verification.traces import is_backed

MOST_AT_ONCE = 256


class Adjudicator:
    """Logs admissions, at most one entry a call."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter) -> None:
        self._member = member
        self._secret = secret
        self._log = log

    def decide(self) -> int:
        """Logs every decision that is due; how many there were."""
        state = self._member.state
        decisions: list[Decision] = []
        for batch in (*state.batches_awaiting_decision(), *self._never_came())[:MOST_AT_ONCE]:
            if batch.is_complete and not self._is_backed(batch):
                continue
            decision = state.batches.decision(batch, state.size)
            if decision is not None:
                decisions.append(decision)
        if not decisions:
            return 0
        try:
            self._log.append(Admission(state.run, tuple(decisions)).seal(self._secret))
        except LogFault as fault:
            self._member.events("fault", f"An admission was not logged: {fault.reason}")
            return 0
        for decision in decisions:
            if decision.outcome != "accepted":
                text = (
                    f"Batch #{decision.index} {decision.outcome}: {decision.reason or 'its bytes did not come in time'}"
                )
                self._member.events(decision.outcome, text, index=decision.index)
        return len(decisions)

    def _never_came(self) -> list[BatchInfo]:
        """Batches without a verdict in time whose bytes are not here; those that only wait for a verifier go on waiting."""
        state, blobs = self._member.state, self._member.blob_store
        return [batch for batch in state.batches.overdue(state.size) if not blobs.has(batch.header.blob_digest)]

    def _is_backed(self, batch: BatchInfo) -> bool:
        """Whether the opened traces are those that the verdict's `work` binds and the batch records."""
        verdict, opening = batch.verdict, batch.opening
        blobs = self._member.blob_store
        if verdict is None:
            return False
        if opening is None:
            return is_backed(verdict, b"")
        data, blob = blobs.get(opening.blob_digest), blobs.get(batch.header.blob_digest)
        if data is None or blob is None:
            return False
        try:
            content = parse_batch(decompress(blob, batch.header.raw_len))
        except ProtocolError:
            content = None
        return is_backed(verdict, data, content)
