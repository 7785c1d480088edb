"""Game batches from header to training: what may be logged of them, and what was decided.

Spec: `docs/spec/admission.md`. Invariants: counters of (owner, release) are contiguous in log order; the coordinator's
decision is the verdict's, or `lost` when a blob did not come in time; nobody is rejected for what a proof can show before
one is logged, and nothing of who is accused is released until then; nothing of a rejected or banned identity is released
after that; what follows a gap in its series is held until somebody filled it, and dropped if nobody does.
"""

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass

from protocol.admission import ACCEPTED, LOST, REJECTED, Admission, Decision
from protocol.entries import Entry
from protocol.header import BatchHeader
from protocol.recovery import KeyReplacement
from protocol.seeds import PPM, is_second_assigned
from protocol.types import ZERO
from protocol.verdict import BLOB, Verdict
from verification.convictions import Convictions
from verification.faults import LogFault, NotYet
from verification.identities import REPEAT, SECOND, BatchInfo, Identity, Recheck, Tally, is_full
from verification.registry import Registry
from verification.releases import ReleaseInfo, Releases
from verification.roles import Change, Roles
from verification.series import Fill, Series
from verification.setup import config_digest
from verification.subjects import BatchSubject, Subjects, require_drawn


@dataclass(frozen=True, slots=True)
class Due:
    """A decision that may be logged, and the checks whose opened traces have to back it."""

    decision: Decision
    batch: BatchInfo
    checks: tuple[BatchSubject, ...]


class Batches:
    """All batches of the log."""

    def __init__(
        self, roles: Roles, registry: Registry, convictions: Convictions, releases: Releases, subjects: Subjects
    ) -> None:
        self._roles = roles
        self._registry = registry
        self._convictions = convictions
        self._releases = releases
        self._subjects = subjects
        self._looking: dict[bytes, Recheck] = {}  # orders to look again that are not decided, by key
        self._series: dict[tuple[bytes, bytes], Series] = {}
        self._identities: dict[bytes, Identity] = {}
        self._batches: dict[int, BatchInfo] = {}
        self._open: dict[int, BatchInfo] = {}
        self._released: list[BatchInfo] = []  # in header log order
        self.released_rows = 0
        self.fills: list[Fill] = []
        """Games that others may fill in, oldest first; `verification.fills` asks them, and closes what nobody takes."""
        self.filled: dict[bytes, list[BatchInfo]] = {}
        """Accepted batches that fill in games, by the owner of their seeds."""

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
        """Batches released to training, of identities neither banned nor accused, in header log order.

        `released_rows` are their plies.
        """
        return tuple(batch for batch in self._released if not self.is_suspended(batch.header.peer))

    def find(self, index: int) -> BatchInfo | None:
        """The batch whose header is logged at `index`."""
        return self._batches.get(index)

    def identity(self, peer: bytes) -> Identity | None:
        """The state of one contributor; None before its first header."""
        return self._identities.get(peer)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """All contributors that had a header logged, in the order of their first; one for a key and its replacement."""
        return tuple(dict.fromkeys(self._identities.values()))

    @property
    def looking(self) -> tuple[Recheck, ...]:
        """Orders to look at a batch again that are not decided, oldest first."""
        return tuple(self._looking.values())

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
        """Whether `peer` has a rejected batch or a ban, lost its probation slot, or goes on under another key."""
        identity = self._identities.get(peer)
        if identity is not None and identity.out_at is not None:
            return True
        is_gone = self._registry.has_lost_slot(peer) or self._registry.successor(peer) is not None
        return is_gone or self._convictions.is_banned(peer)

    def is_suspended(self, peer: bytes) -> bool:
        """Whether a verdict accuses `peer` of what no logged proof has shown yet."""
        identity = self._identities.get(peer)
        return identity is not None and bool(identity.accusing)

    def active_players(self, index: int) -> tuple[bytes, ...]:
        """Contributors in good standing that were heard of within the last `timeout_entries` entries before `index`."""
        since = index - self._roles.manifest.admission.timeout_entries
        heard = {peer: self.last_index(peer) for peer in self._registry.peers if not self.is_out(peer)}
        return tuple(peer for peer, at in heard.items() if at is not None and at >= since)

    def undecided(self) -> Iterable[BatchSubject]:
        """Every check that still needs a verdict or a decision: open batches, second looks, orders to look again."""
        for batch in self._open.values():
            yield batch
            if batch.second is not None:
                yield batch.second
        yield from self._looking.values()

    def awaiting_verdict(self, verifier: bytes, index: int) -> list[BatchSubject]:
        """Checks that `verifier` may judge in an entry at `index`."""
        return [each for each in self.undecided() if self._subjects.may_judge(each, verifier, index)]

    def accusing(self) -> list[BatchSubject]:
        """Checks whose verdict accuses a contributor of what no logged proof has shown yet."""
        accusing = (each for identity in self._identities.values() for each in identity.accusing)
        return sorted(
            (each for each in accusing if not self._convictions.is_shown(batch_of(each).index)),
            key=lambda each: each.verdict_index,
        )

    def unjudged(self, verifier: bytes, epoch: int) -> list[BatchSubject]:
        """Checks without a verdict that a verifier's epoch still has to draw from."""
        return [
            each
            for each in self.undecided()
            if each.verdict is None
            and each.candidates.get(verifier) == epoch
            and (each.beacon is None or each.assigned == verifier)
        ]

    def judged(self, verifier: bytes, epoch: int | None = None) -> list[BatchSubject]:
        """Checks of batches with a verdict by a verifier, decided or not, in log order; given an epoch, those under it."""
        return [
            look
            for batch in self._batches.values()
            for look in batch.looks
            if look.verdict is not None
            and look.verdict.verifier == verifier
            and (epoch is None or look.verdict.epoch == epoch)
        ]

    def false_draws(self, verifier: bytes, epoch: int, secret: bytes) -> list[BatchSubject]:
        """Checks whose verdicts under an epoch name other games than its revealed secret draws."""
        wrong = []
        for look in self.judged(verifier, epoch):
            try:
                if look.verdict is not None:
                    require_drawn(look.verdict, look.draw(secret))
            except LogFault:
                wrong.append(look)
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
        fill = self._find_fill(header, series, release, index) if header.fill_for else None
        if fill is None:
            self._check_next(header, series, release, index)
        self._check_sizes(header)
        candidates = self._subjects.candidates(index)
        if not candidates:
            raise NotYet("No verifier takes batches now.")
        identity = self._identities.get(header.peer) or Identity(header.peer)
        q = identity.share_of_replay(self._roles.manifest.admission, index)
        digest = entry.envelope.digest
        batch = BatchInfo(
            index, digest, header.games, header.semantics, candidates, header=header, q_ppm=q, series=series
        )

        def change() -> None:
            self._identities[header.peer] = identity
            identity.add(batch)
            self._series[header.owner, header.release] = series
            series.next_counter = max(series.next_counter, header.first_counter + header.games)
            series.closed = series.closed or header.final
            if fill is not None:
                batch.fill, fill.header_index = fill, index
            self._batches[index] = self._open[index] = batch
            self._subjects.add(batch)

        return change

    def assigned(self, batch: BatchInfo) -> None:
        """A batch has its beacon: one in ten is for a second verifier too, if there is one."""
        others = {key: epoch for key, epoch in batch.candidates.items() if key != batch.assigned}
        if batch.beacon is not None and others and is_second_assigned(batch.beacon, batch.digest):
            batch.second = self._recheck(batch, SECOND, batch.index, others, q_ppm=batch.q_ppm)

    def order(
        self,
        batch: BatchInfo,
        purpose: str,
        index: int,
        q_ppm: int = PPM,
        chosen: tuple[int, ...] | None = None,
        but: bytes = b"",
    ) -> Recheck | None:
        """Has a batch looked at again by the entry at `index`, by another verifier than `but`; None if there is none."""
        candidates = {key: epoch for key, epoch in self._subjects.candidates(index).items() if key != but}
        if not batch.games or (purpose == REPEAT and not candidates):
            return None
        recheck = self._recheck(batch, purpose, index, candidates, q_ppm, chosen)
        batch.rechecks.append(recheck)
        self._looking[recheck.key] = recheck
        return recheck

    def change_verdict(self, check: BatchSubject, verdict: Verdict, index: int) -> Change:
        """Checks what `Subjects.check_verdict` leaves to batches; raises LogFault."""
        batch = batch_of(check)
        if check.decision is not None or (batch.dropped and check.key not in self._looking):
            raise LogFault(f"The batch at entry {batch.index} needs no verdict any more.")
        if check.chosen is not None:
            require_drawn(verdict, check.chosen)
        elif is_full(check):
            require_drawn(verdict, tuple(range(check.games)))
        if verdict.evidence not in ("", BLOB) and verdict.game >= check.games:
            raise LogFault("The verdict's evidence is in a game that its subject does not have.")

        def change() -> None:
            check.verdict, check.verdict_index = verdict, index
            if check.is_accusing:
                self._identities[check.header.peer].accusing.add(check)
                self._convictions.accuse(check.header, verdict, index)
                self._count_rows()

        return change

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
            if look.is_complete and not look.is_accepted and self._is_shown(batch, look):
                return decided(REJECTED, look)
        if all(look.is_complete and look.is_accepted for look in looks):
            return decided(ACCEPTED, check)
        if check.verdict is None and index > check.index + timeout:
            return decided(LOST, None)
        return None

    def _is_shown(self, batch: BatchInfo, look: BatchSubject) -> bool:
        """Whether what a rejecting verdict says is in the blob for all to see, or shown by a logged proof."""
        is_blob = look.verdict is not None and look.verdict.evidence == BLOB
        return is_blob or self._convictions.is_shown(batch.index) or self._convictions.is_banned(batch.header.peer)

    def _recheck(
        self,
        batch: BatchInfo,
        purpose: str,
        index: int,
        candidates: dict[bytes, int],
        q_ppm: int,
        chosen: tuple[int, ...] | None = None,
    ) -> Recheck:
        recheck = Recheck(
            index,
            batch.digest,
            batch.games,
            batch.semantics,
            candidates,
            header=batch.header,
            q_ppm=q_ppm,
            chosen=chosen,
            batch=batch,
            purpose=purpose,
        )
        self._subjects.add(recheck)
        return recheck

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

    def open_fill(self, fill: Fill) -> None:
        """Has others asked to fill in games."""
        series = self._series.setdefault((fill.owner, fill.release), Series())
        series.fills.append(fill)
        series.closed = series.closed or not fill.is_gap
        self.fills.append(fill)

    def close_fill(self, fill: Fill) -> None:
        """Nobody is asked to fill in these games any more."""
        self._series[fill.owner, fill.release].fills.remove(fill)
        self.fills.remove(fill)

    def end_at_gap(self, gap: Fill, index: int) -> None:
        """Nobody filled a gap in time: the series ends there, and what its owner sent after it is dropped."""
        series = self.series(gap.owner, gap.release)
        series.closed = True
        identity = self._identities[gap.owner]
        later = [b for b in identity.held if b.series is series and b.header.first_counter > gap.first_counter]
        self._drop(identity, later, index)
        for fill in list(series.fills):
            if fill.first_counter >= gap.first_counter and fill.header_index is None:
                self.close_fill(fill)
        self.release(identity, index)

    def ban(self, peer: bytes, index: int) -> None:
        """A ban of `peer` is logged at `index`."""
        identity = self._identities.get(peer)
        if identity is not None:
            self._expel(identity, index)
            theirs = set(identity.batches)
            self._looking = {key: each for key, each in self._looking.items() if each.batch not in theirs}
            self._purge([batch for batch in self._released if batch in theirs])

    def retire(self, peer: bytes, index: int) -> None:
        """A reveal at `index` shows that `peer` is the coordinator's own: nothing of it is used, or counts, any more."""
        identity = self._identities[peer]
        if identity.out_at is None:
            identity.out_at = index
        self._drop(identity, list(identity.held), index)
        self._looking = {key: each for key, each in self._looking.items() if each.header.peer != peer}
        identity.accusing.clear()
        identity.tally = Tally()
        gone = [batch for batch in self._released if batch.header.peer == peer]
        for batch in gone:
            batch.dropped = True
        self._purge(gone)

    def replace(self, record: KeyReplacement, index: int) -> None:
        """`record.replacement` goes on for `record.peer`, whose batches from `invalid_from` on are not its owner's."""
        identity = self._identities.get(record.peer)
        if identity is None:
            return
        foreign = [batch for batch in identity.batches if batch.index >= record.invalid_from]
        for batch in foreign:
            self._convictions.forgive(batch.index, index)
        self._drop(identity, [batch for batch in foreign if not batch.is_accepted_batch], index)
        for batch in foreign:
            if batch.is_accepted_batch and not batch.dropped:
                identity.withdraw(batch)
        self._purge(foreign)
        identity.peer, identity.out_at = record.replacement, None
        if foreign:
            identity.restart()
        self._identities[record.replacement] = identity
        self._count_rows()

    def release(self, identity: Identity, index: int) -> None:
        """Releases what an entry at `index` lets go of an identity."""
        for each in identity.release(self._roles.manifest.admission, index):
            insort(self._released, each, key=lambda released: released.index)
            self.released_rows += each.header.plies

    def absolve(self, checks: Iterable[BatchSubject], index: int) -> None:
        """What these checks accused somebody of fell away with the verdict of a verifier that is trusted no more."""
        for check in checks:
            identity = self._identities[check.header.peer]
            if check in identity.accusing and not check.is_accusing:
                identity.accusing.discard(check)
                self._convictions.absolve(check.header)
                self.release(identity, index)
                self._count_rows()

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

    def _settle_fill(self, batch: BatchInfo, outcome: str, index: int) -> None:
        """A batch is decided: it filled in games, or failed to; or its own games are lost, so that others may."""
        header, fill = batch.header, batch.fill
        if fill is not None and outcome == ACCEPTED:
            self.close_fill(fill)
            self.filled.setdefault(header.owner, []).append(batch)
            owner = self._identities.get(header.owner)
            if owner is not None:
                self.release(owner, index)
        elif fill is not None:
            self._reopen(fill, header.peer, index)
        elif outcome == LOST and header.games:
            last_index = index + self._roles.manifest.admission.timeout_entries
            place = header.owner, header.release, header.first_counter, header.games
            self.open_fill(Fill(*place, header.final, is_gap=True, index=index, last_index=last_index))

    def _reopen(self, fill: Fill, player: bytes, index: int) -> None:
        """The batch that was to fill in games is no good: others may, for a while."""
        fill.header_index = None
        fill.barred.add(player)
        fill.last_index = index + self._roles.manifest.admission.timeout_entries

    def _withdraw(self, batch: BatchInfo, identity: Identity, index: int) -> None:
        """A batch that was accepted before turns out to be wrong, or is gone: it enters no window from here on."""
        if batch.is_open:
            identity.refuse(batch)
            batch.dropped = True
            self._open.pop(batch.index)
            if batch.fill is not None:
                self._reopen(batch.fill, batch.header.peer, index)
        elif batch.is_accepted_batch and not batch.dropped:
            identity.withdraw(batch)
        self._purge([batch])

    def _purge(self, batches: list[BatchInfo]) -> None:
        gone = {batch.index for batch in batches}
        self._released = [batch for batch in self._released if batch.index not in gone]
        self._count_rows()

    def _count_rows(self) -> None:
        self.released_rows = sum(batch.header.plies for batch in self.released)

    def _expel(self, identity: Identity, index: int) -> None:
        """Nothing of an identity is released any more. What a verdict accuses it of is still decided."""
        if identity.out_at is None:
            identity.out_at = index
        unaccused = [batch for batch in identity.held if batch.decision is not None or not _is_accused(batch)]
        self._drop(identity, unaccused, index)

    def _drop(self, identity: Identity, batches: list[BatchInfo], index: int) -> None:
        for batch in batches:
            if batch.fill is not None and batch.is_open:
                self._reopen(batch.fill, batch.header.peer, index)
        identity.drop(batches)
        for batch in batches:
            self._open.pop(batch.index, None)
            for recheck in batch.rechecks:
                self._looking.pop(recheck.key, None)
            identity.accusing -= set(batch.looks)

    def _check_author(self, entry: Entry, header: BatchHeader) -> None:
        if entry.signers != (header.peer,):
            raise LogFault("The header is not signed by the peer that it names.")
        info = self._registry.find(header.peer)
        if info is None:
            raise NotYet("The header's peer is not registered.")
        if header.registration != info.index:
            raise LogFault(f"The peer is registered at entry {info.index}, not {header.registration}.")
        if self._registry.successor(header.peer) is not None:
            raise LogFault("The header's peer has another key now.")
        if self._convictions.is_banned(header.peer):
            raise LogFault("The header's peer is banned.")
        if self._registry.has_lost_slot(header.peer):
            raise LogFault("The header's peer has lost its probation slot: it sent no batch in time.")
        if self.is_out(header.peer):
            raise LogFault("The header's peer has a rejected batch.")
        if self.is_suspended(header.peer):
            raise NotYet("A verdict accuses the header's peer; the proof of it is being checked.")

    def _check_next(self, header: BatchHeader, series: Series, release: ReleaseInfo, index: int) -> None:
        """Raises LogFault unless a header is the next one of its signer's own series."""
        if not self._releases.is_live(release, index):
            raise LogFault(f"Release {release.number} is no longer played; its series is ended.")
        if series.closed:
            raise LogFault(f"The series of this peer for release {release.number} is ended.")
        if header.first_counter != series.next_counter:
            fault = NotYet if header.first_counter > series.next_counter else LogFault
            raise fault(f"The peer's next counter is {series.next_counter}, not {header.first_counter}.")
        n = self._roles.manifest.admission.games_per_batch
        if header.games > n or (header.games < n and not header.final):
            raise LogFault(f"A batch has {n} games and a final one at most as many, not {header.games}.")

    def _find_fill(self, header: BatchHeader, series: Series, release: ReleaseInfo, index: int) -> Fill:
        """The games of another's series, or the gap of its own, that a header's signer may fill in; raises LogFault."""
        if self._registry.join_nonce(header.owner) is None:
            raise NotYet("Whose seeds the header's games have is not registered, or has no join nonce yet.")
        fill = series.fill_at(header.first_counter)
        if fill is None:
            fault = NotYet if self._releases.is_live(release, index) else LogFault
            raise fault(f"Nobody is asked to fill in games from {header.first_counter} of this series.")
        if fill.header_index is not None:
            raise LogFault(f"The games from {header.first_counter} of this series are filled in already.")
        if not fill.may_be_played_by(header.peer):
            is_vain = header.peer == header.owner or header.peer in fill.barred
            raise (LogFault if is_vain else NotYet)("The header's peer is not asked to fill in these games.")
        if (header.games, header.final) != (fill.games, fill.is_final):
            end = "a final one" if fill.is_final else "not a final one"
            raise LogFault(f"What is to be filled in is a batch of {fill.games} games, {end}.")
        return fill

    def _check_sizes(self, header: BatchHeader) -> None:
        manifest = self._roles.manifest
        if header.blob_len > manifest.limits.blob_bytes or header.raw_len > manifest.limits.raw_bytes:
            raise LogFault("The batch is larger than the manifest's limits.")
        if header.plies < header.games or (header.games == 0 and header.plies):
            raise LogFault("The header's plies do not fit its games.")


def _is_accused(batch: BatchInfo) -> bool:
    return any(look.is_accusing for look in batch.looks)


def batch_of(check: BatchSubject) -> BatchInfo:
    """The batch that a check looks at."""
    if isinstance(check, Recheck):
        return check.batch
    assert isinstance(check, BatchInfo)
    return check
