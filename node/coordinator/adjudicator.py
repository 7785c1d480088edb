"""The coordinator's decisions: checks the traces behind each verdict and logs what became of each batch.

Spec: `docs/spec/admission.md`. The state says which decision is due; this part adds the one thing the log cannot show:
that the opened traces hash to the verdict's `work`.
"""

from node.coordinator.log_writer import LogWriter
from node.member import Member
from protocol.admission import Admission, Decision
from protocol.ed25519 import SecretKey
from protocol.seeds import work
from protocol.verdict import TraceOpening, Verdict
from verification.faults import LogFault
from verification.identities import BatchInfo

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
        for batch in (*state.batches_awaiting_decision(), *self._never_came()):
            if batch.is_complete and not self.is_backed(batch.verdict, batch.opening):
                continue
            decision = state.batches.decision(batch, state.size)
            if decision is not None and len(decisions) < MOST_AT_ONCE:
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

    def is_backed(self, verdict: Verdict | None, opening: TraceOpening | None) -> bool:
        """Whether the opened traces are the ones that the verdict's `work` binds."""
        if verdict is None:
            return False
        data = self._member.blob_store.get(opening.blob_digest) if opening is not None else b""
        if data is None or len(data) % 32:
            return False
        digests = [data[at : at + 32] for at in range(0, len(data), 32)]
        return work(verdict.run, verdict.verifier, verdict.subject, digests) == verdict.work
