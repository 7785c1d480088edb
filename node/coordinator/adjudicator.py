"""The coordinator's decisions: checks the traces behind each verdict and logs what became of each batch.

Spec: `docs/spec/admission.md`. The state says which decision is due; this part adds the one thing the log cannot show:
that the opened traces are those of the replayed games, and that a blob for which a batch is rejected is wrong.
"""

from collections.abc import Callable

from node.coordinator.log_writer import LogWriter
from node.member import Member
from protocol.admission import ACCEPTED, REJECTED, Admission
from protocol.batch import unpack_batch
from protocol.ed25519 import SecretKey
from protocol.errors import ProtocolError
from verification.decisions import Due
from verification.faults import LogFault
from verification.identities import REPEAT
from verification.subjects import BatchSubject
from verification.traces import is_backed

MOST_AT_ONCE = 256


class Adjudicator:
    """Logs admissions, at most one entry a call.

    `may_reject(check)` says whether the coordinator's own look at a blob confirms a verdict that rejects the batch for it.
    """

    def __init__(
        self, member: Member, secret: SecretKey, log: LogWriter, may_reject: Callable[[BatchSubject], bool]
    ) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._may_reject = may_reject

    def decide(self) -> int:
        """Logs every decision that is due; how many there were."""
        state = self._member.state
        decisions = [due.decision for due in state.due_decisions() if self._may_be_logged(due)][:MOST_AT_ONCE]
        if not decisions:
            return 0
        try:
            self._log.append(Admission(state.run, tuple(decisions)).seal(self._secret))
        except LogFault as fault:
            self._member.events("fault", f"An admission was not logged: {fault.reason}")
            return 0
        for decision in decisions:
            if decision.outcome != ACCEPTED:
                is_again = decision.order != decision.index
                late = "nobody repeated its games in time" if is_again else "its bytes did not come in time"
                text = f"Batch #{decision.index} {decision.outcome}: {decision.reason or late}"
                self._member.events(decision.outcome, text, index=decision.index)
        return len(decisions)

    def _may_be_logged(self, due: Due) -> bool:
        """Whether the traces behind a decision are backed; or, of a batch without a verdict in time, its bytes not here.

        A rejection needs no traces: a logged proof shows it, or the coordinator's own look. Those that only wait for a
        verifier go on waiting, but for an order to repeat games, which blocks nothing.
        """
        if due.decision.outcome == REJECTED:
            return all(self._may_reject(check) for check in due.checks)
        if due.checks:
            return all(self._is_backed(check) for check in due.checks)
        if any(each.index == due.decision.order and each.purpose == REPEAT for each in due.batch.rechecks):
            return True
        return not self._member.blob_store.has(due.batch.header.blob_digest)

    def _is_backed(self, check: BatchSubject) -> bool:
        """Whether the opened traces are those that the verdict's `work` binds and the batch records."""
        verdict, opening = check.verdict, check.opening
        blobs = self._member.blob_store
        if verdict is None:
            return False
        if opening is None:
            return is_backed(verdict, b"")
        data, blob = blobs.get(opening.blob_digest), blobs.get(check.header.blob_digest)
        if data is None or blob is None:
            return False
        try:
            content = unpack_batch(blob, check.header.raw_len)
        except ProtocolError:
            content = None
        return is_backed(verdict, data, content)
