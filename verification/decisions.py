"""The coordinator's decisions on batches: which are due, and what each changes.

Spec: `docs/spec/admission.md`. Invariants: a decision is the verdict's, or `lost` when none came in time; nobody is
rejected for what a proof can show before one is logged.
"""

from dataclasses import dataclass

from protocol.admission import ACCEPTED, LOST, REJECTED, Admission, Decision
from protocol.entries import Entry
from protocol.types import ZERO
from protocol.verdict import BLOB
from verification.fates import Fates
from verification.faults import LogFault
from verification.identities import REPEAT, BatchInfo, Recheck, batch_of
from verification.roles import Change
from verification.subjects import BatchSubject


@dataclass(frozen=True, slots=True)
class Due:
    """A decision that may be logged, and the checks whose opened traces have to back it."""

    decision: Decision
    batch: BatchInfo
    checks: tuple[BatchSubject, ...]


class Decisions(Fates):
    """The book, with its decisions."""

    def due(self, index: int) -> list[Due]:
        """Every decision that an entry at `index` may hold, in log order of the headers, then of the orders."""
        found = [self.due_of(batch, index) for batch in self._open.values()]
        found += [self.due_of(recheck, index) for recheck in self._looking.values()]
        return [due for due in found if due is not None]

    def due_of(self, check: BatchInfo | Recheck, index: int) -> Due | None:
        """The decision that an entry at `index` may hold on a batch or an order to look again; None while none is due."""
        batch, timeout = batch_of(check), self._roles.manifest.admission.timeout_entries
        if check.decision is not None or (check is batch and batch.dropped):
            return None
        looks: list[BatchSubject] = [check]
        second = batch.second if check is batch else None
        if second is not None and (second.verdict is not None or index <= batch.index + 2 * timeout):
            looks.append(second)

        def decided(outcome: str, by: BatchSubject | None) -> Due:
            verdict = None if by is None else by.verdict
            key, reason = (ZERO, "") if verdict is None else (verdict.verifier, verdict.reason)
            decision = Decision(batch.index, check.index, outcome, key, check.q_ppm, reason)
            return Due(decision, batch, tuple(looks) if outcome == ACCEPTED else () if by is None else (by,))

        for look in looks:
            if look.verdict is not None and not look.is_accepted and self._is_shown(batch, look):
                return decided(REJECTED, look)
        if all(look.is_complete and look.is_accepted for look in looks):
            return decided(ACCEPTED, check)
        is_accused = not self._identities[batch.header.peer].accusing.isdisjoint(batch.looks)  # then a proof decides
        if check.verdict is None and not is_accused and index > check.index + timeout:
            return decided(LOST, None)
        return None

    def _is_shown(self, batch: BatchInfo, look: BatchSubject) -> bool:
        """Whether what a rejecting verdict says is in the blob for all to see, or shown by a logged proof."""
        is_blob = look.verdict is not None and look.verdict.evidence == BLOB
        return is_blob or self._convictions.is_shown(batch.index) or self._convictions.is_banned(batch.header.peer)

    def change_admission(self, entry: Entry, record: Admission, index: int) -> Change:
        """Checks the coordinator's decisions; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        places = [(decision.index, decision.order) for decision in record.decisions]
        if not places or len(set(places)) != len(places):
            raise LogFault("An admission decides on one batch or more, each once.")
        checks = [self._find_check(decision) for decision in record.decisions]
        for decision, check in zip(record.decisions, checks, strict=True):
            due = self.due_of(check, index)
            if due is None:
                raise LogFault(f"No decision is due on the batch at entry {decision.index}.")
            if decision != due.decision:
                raise LogFault(f"The decision on the batch at entry {decision.index} is not what its verdict says.")

        def change() -> None:
            for decision, check in zip(record.decisions, checks, strict=True):
                self._decide(check, decision, index)

        return change

    def _find_check(self, decision: Decision) -> BatchInfo | Recheck:
        batch = self._batches.get(decision.index)
        if batch is None:
            raise LogFault(f"No batch is logged at entry {decision.index}.")
        checks: list[BatchInfo | Recheck] = [batch, *batch.rechecks]
        check = next((each for each in checks if each.index == decision.order), None)
        if check is None:
            raise LogFault(f"Entry {decision.order} does not order a check of the batch at entry {decision.index}.")
        return check

    def _decide(self, check: BatchInfo | Recheck, decision: Decision, index: int) -> None:
        batch = batch_of(check)
        identity = self._identities[batch.header.peer]
        if check is batch and batch.dropped:  # by a decision before it in the same entry
            return
        check.decision, check.decided_at = decision, index
        if identity.accusing:
            identity.accusing -= set(batch.looks if check is batch else [check])
            self._count_rows()
        if decision.outcome == ACCEPTED and check is batch:
            looks = [batch] if batch.second is None else [batch, batch.second]
            identity.replayed += sum(look.opening.plies for look in looks if look.opening is not None)
        if isinstance(check, Recheck):
            self._looking.pop(check.key, None)
            if decision.outcome != ACCEPTED and not (decision.outcome == LOST and check.purpose == REPEAT):
                self._withdraw(batch, identity, index)
        else:
            self._open.pop(batch.index, None)
            if decision.outcome == ACCEPTED:
                identity.accept(batch)
            else:
                identity.refuse(batch)
            self._settle_fill(batch, decision.outcome, index)
        if decision.outcome == REJECTED and not self._convictions.is_pardoned(batch.index):
            self._expel(identity, index)
        self.release(identity, index)
