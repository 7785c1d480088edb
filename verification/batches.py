"""Game batches from header to training: what may be logged of them, and what was decided.

Spec: `docs/spec/admission.md`. Invariants: counters of (owner, release) are contiguous in log order; the coordinator's
decision is the verdict's, or `lost` when a blob did not come in time; nothing of a rejected or banned identity is released
after that; a gap ends its series and drops what followed it.
"""

from bisect import insort

from protocol.admission import ACCEPTED, LOST, REJECTED, Admission, Decision
from protocol.entries import Entry
from protocol.header import BatchHeader
from protocol.seeds import PPM
from protocol.types import ZERO
from protocol.verdict import Verdict
from verification.faults import LogFault, NotYet
from verification.identities import BatchInfo, Identity, Series, Tally
from verification.probation import q_ppm
from verification.registry import Registry
from verification.releases import Releases
from verification.roles import Change, Roles
from verification.setup import config_digest
from verification.subjects import Subjects, require_drawn


class Batches:
    """All batches of the log."""

    def __init__(self, roles: Roles, registry: Registry, releases: Releases, subjects: Subjects) -> None:
        self._roles = roles
        self._registry = registry
        self._releases = releases
        self._subjects = subjects
        self._series: dict[tuple[bytes, bytes], Series] = {}
        self._identities: dict[bytes, Identity] = {}
        self._batches: dict[int, BatchInfo] = {}
        self._open: dict[int, BatchInfo] = {}
        self._released: list[BatchInfo] = []  # in header log order
        self.released_rows = 0

    # ---- queries

    @property
    def all(self) -> tuple[BatchInfo, ...]:
        """Every batch in log order."""
        return tuple(self._batches.values())

    @property
    def open(self) -> tuple[BatchInfo, ...]:
        """Batches that still need a decision, in log order."""
        return tuple(self._open.values())

    @property
    def released(self) -> tuple[BatchInfo, ...]:
        """Batches released to training, of identities not banned, in header log order; `released_rows` are their plies."""
        return tuple(self._released)

    def find(self, index: int) -> BatchInfo | None:
        """The batch whose header is logged at `index`."""
        return self._batches.get(index)

    def series(self, owner: bytes, release: bytes) -> Series:
        """The counters of (owner, release)."""
        return self._series.get((owner, release)) or Series()

    def tally(self, peer: bytes) -> Tally:
        """The games of one identity."""
        identity = self._identities.get(peer)
        return identity.tally if identity is not None else Tally()

    def total(self) -> Tally:
        """The games of all identities."""
        total = Tally()
        for identity in self._identities.values():
            total += identity.tally
        return total

    def last_index(self, peer: bytes) -> int | None:
        """The log index of the peer's last header."""
        identity = self._identities.get(peer)
        return identity.last_index if identity is not None else None

    def is_out(self, peer: bytes) -> bool:
        """Whether `peer` has a rejected batch or a ban."""
        identity = self._identities.get(peer)
        return self._registry.is_banned(peer) or (identity is not None and identity.out_at is not None)

    def awaiting_verdict(self, verifier: bytes, index: int) -> list[BatchInfo]:
        """Batches that `verifier` may judge in an entry at `index`, in log order."""
        timeout = self._roles.manifest.admission.timeout_entries
        return [b for b in self._open.values() if b.verdict is None and b.may_judge(verifier, index, timeout)]

    def awaiting_decision(self) -> list[BatchInfo]:
        """Batches whose verdict is logged and, if anything was replayed, opened; in log order."""
        return [batch for batch in self._open.values() if batch.is_complete]

    def overdue(self, index: int) -> list[BatchInfo]:
        """Batches that an entry at `index` may call lost: no verdict in time."""
        timeout = self._roles.manifest.admission.timeout_entries
        return [b for b in self._open.values() if b.verdict is None and index > b.index + timeout]

    def unjudged(self, verifier: bytes, epoch: int) -> list[BatchInfo]:
        """Open batches without a verdict that a verifier's epoch still has to draw from."""
        return [
            batch
            for batch in self._open.values()
            if batch.verdict is None
            and batch.candidates.get(verifier) == epoch
            and (batch.beacon is None or batch.assigned == verifier)
        ]

    def false_draws(self, verifier: bytes, epoch: int, secret: bytes) -> list[BatchInfo]:
        """Batches whose verdicts under an epoch name other games than its revealed secret draws."""
        wrong = []
        for batch in self._batches.values():
            verdict = batch.verdict
            if verdict is not None and (verdict.verifier, verdict.epoch) == (verifier, epoch):
                try:
                    require_drawn(verdict, batch.draw(secret))
                except LogFault:
                    wrong.append(batch)
        return wrong

    # ---- changes

    def change_header(self, entry: Entry, header: BatchHeader, index: int) -> Change:
        """Checks a batch header; raises LogFault."""
        self._check_author(entry, header)
        release = self._releases.find(header.release)
        if release is None:
            raise NotYet("The header names a release that this log does not have.")
        manifest = self._roles.manifest_by_digest(release.manifest)
        if manifest is None or header.manifest != release.manifest:
            raise LogFault("The header names another manifest than its release.")
        if header.config != config_digest(manifest.selfplay):
            raise LogFault("The header names another search config than the manifest.")
        if header.semantics != manifest.selfplay.semantics:
            raise LogFault(f"The header's semantics are {header.semantics}, the run's {manifest.selfplay.semantics}.")
        series = self.series(header.owner, header.release)
        if not self._releases.is_live(release, index):
            raise LogFault(f"Release {release.number} is no longer played; its series is ended.")
        if series.closed:
            raise LogFault(f"The series of this peer for release {release.number} is ended.")
        if header.first_counter != series.next_counter:
            fault = NotYet if header.first_counter > series.next_counter else LogFault
            raise fault(f"The peer's next counter is {series.next_counter}, not {header.first_counter}.")
        self._check_sizes(header)
        candidates = self._subjects.candidates(index)
        if not candidates:
            raise NotYet("No verifier takes batches now.")
        identity = self._identities.get(header.peer) or Identity(header.peer)
        policy = self._roles.manifest.admission
        q = q_ppm(identity.accepted, identity.first_passed(policy), policy)
        digest = entry.envelope.digest
        batch = BatchInfo(index, digest, header.games, header.semantics, candidates, q_ppm=q, header=header)

        def change() -> None:
            self._identities[header.peer] = identity
            identity.add(batch)
            self._series[header.owner, header.release] = series
            series.next_counter += header.games
            series.closed = header.final
            self._batches[index] = self._open[index] = batch
            self._subjects.add(batch)

        return change

    def change_verdict(self, batch: BatchInfo, verdict: Verdict, index: int) -> Change:
        """Checks what `Subjects.check_verdict` leaves to batches; raises LogFault."""
        if not batch.is_open:
            raise LogFault(f"The batch at entry {batch.index} needs no verdict any more.")
        if batch.q_ppm == PPM:
            require_drawn(verdict, tuple(range(batch.games)))

        def change() -> None:
            batch.verdict, batch.verdict_index = verdict, index

        return change

    def decision(self, batch: BatchInfo, index: int) -> Decision | None:
        """The decision that an entry at `index` may hold on a batch, or None while none is due."""
        verdict = batch.verdict
        if not batch.is_open:
            return None
        if verdict is None:
            timeout = self._roles.manifest.admission.timeout_entries
            if index > batch.index + timeout:
                return Decision(batch.index, LOST, ZERO, batch.q_ppm, "")
            return None
        if not batch.is_complete:
            return None
        outcome = ACCEPTED if batch.is_accepted else REJECTED
        return Decision(batch.index, outcome, verdict.verifier, batch.q_ppm, verdict.reason)

    def change_admission(self, entry: Entry, record: Admission, index: int) -> Change:
        """Checks the coordinator's decisions; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        indices = [decision.index for decision in record.decisions]
        if not indices or len(set(indices)) != len(indices):
            raise LogFault("An admission decides on one batch or more, each once.")
        for decision in record.decisions:
            batch = self._batches.get(decision.index)
            if batch is None:
                raise LogFault(f"No batch is logged at entry {decision.index}.")
            due = self.decision(batch, index)
            if due is None:
                raise LogFault(f"No decision is due on the batch at entry {decision.index}.")
            if decision != due:
                raise LogFault(f"The decision on the batch at entry {decision.index} is not what its verdict says.")

        def change() -> None:
            for decision in record.decisions:
                self._decide(self._batches[decision.index], decision, index)

        return change

    def ban(self, peer: bytes, index: int) -> None:
        """A ban of `peer` is logged at `index`."""
        identity = self._identities.get(peer)
        if identity is not None:
            self._expel(identity, index)
            self._released = [batch for batch in self._released if batch.header.peer != peer]
            self.released_rows = sum(batch.header.plies for batch in self._released)

    def _decide(self, batch: BatchInfo, decision: Decision, index: int) -> None:
        identity = self._identities[batch.header.peer]
        if batch.dropped:  # by a decision before it in the same entry
            return
        batch.decision, batch.decided_at = decision, index
        self._open.pop(batch.index, None)
        if decision.outcome == ACCEPTED:
            for each in identity.accept(batch, self._roles.manifest.admission, index):
                insort(self._released, each, key=lambda released: released.index)
                self.released_rows += each.header.plies
            return
        identity.refuse(batch)
        if decision.outcome == REJECTED:
            self._expel(identity, index)
        else:
            self._end_at_gap(batch, identity)

    def _end_at_gap(self, lost: BatchInfo, identity: Identity) -> None:
        series = self._series[lost.header.owner, lost.header.release]
        series.closed = True
        series.gap = lost
        key = lost.header.owner, lost.header.release
        later = [b for b in identity.held if b.index > lost.index and (b.header.owner, b.header.release) == key]
        self._drop(identity, later)

    def _expel(self, identity: Identity, index: int) -> None:
        if identity.out_at is None:
            identity.out_at = index
        self._drop(identity, list(identity.held))

    def _drop(self, identity: Identity, batches: list[BatchInfo]) -> None:
        identity.drop(batches)
        for batch in batches:
            self._open.pop(batch.index, None)

    def _check_author(self, entry: Entry, header: BatchHeader) -> None:
        if entry.signers != (header.peer,):
            raise LogFault("The header is not signed by the peer that it names.")
        if header.fill_for:
            raise LogFault("Batches with another peer's seeds are not taken yet.")
        info = self._registry.find(header.peer)
        if info is None:
            raise NotYet("The header's peer is not registered.")
        if header.registration != info.index:
            raise LogFault(f"The peer is registered at entry {info.index}, not {header.registration}.")
        if self._registry.is_banned(header.peer):
            raise LogFault("The header's peer is banned.")
        if self.is_out(header.peer):
            raise LogFault("The header's peer has a rejected batch.")

    def _check_sizes(self, header: BatchHeader) -> None:
        manifest = self._roles.manifest
        n = manifest.admission.games_per_batch
        if header.games > n or (header.games < n and not header.final):
            raise LogFault(f"A batch has {n} games and a final one at most as many, not {header.games}.")
        if header.blob_len > manifest.limits.blob_bytes or header.raw_len > manifest.limits.raw_bytes:
            raise LogFault("The batch is larger than the manifest's limits.")
        if header.plies < header.games or (header.games == 0 and header.plies):
            raise LogFault("The header's plies do not fit its games.")
