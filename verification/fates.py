"""What becomes of batches and contributors: released, withdrawn, dropped, expelled, retired, replaced.

Spec: `docs/spec/admission.md`, `docs/spec/fills.md`. Invariants: nothing of a rejected or banned identity is released after
that; what follows a gap in its series is held until somebody filled it, and dropped if nobody does.
"""

from bisect import insort
from collections.abc import Iterable

from protocol.admission import ACCEPTED, LOST, REJECTED
from protocol.recovery import KeyReplacement
from verification.book import Book
from verification.identities import BatchInfo, Identity, Tally
from verification.series import Fill, Series
from verification.subjects import BatchSubject


class Fates(Book):
    """The book, with what befalls those in it."""

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
        """A ban of `peer` is logged at `index`: nothing of it is looked at any more, but for what it is accused of."""
        identity = self._identities.get(peer)
        if identity is not None:
            self._expel(identity, index)
            theirs = set(identity.batches)
            looking = self._looking.items()
            self._looking = {key: each for key, each in looking if each.batch not in theirs or each.is_accusing}
            self._purge([batch for batch in self._released if batch in theirs])

    def retire(self, peer: bytes, index: int) -> None:
        """A reveal at `index` shows that `peer` is the coordinator's own: nothing of it is used, or counts, any more."""
        identity = self._identities[peer]
        if identity.out_at is None:
            identity.out_at = index
        self._drop(identity, list(identity.held), index)
        self._forget(identity, identity.batches)
        identity.tally = Tally()
        for batch in identity.batches:
            batch.dropped = batch.dropped or batch.is_accepted_batch
        self._purge(identity.batches)

    def was_wrong_before(self, peer: bytes, index: int) -> bool:
        """Whether a batch of `peer` logged before entry `index` is rejected or accused, and not pardoned."""
        identity = self._identities.get(peer)
        return identity is not None and any(
            batch.index < index
            and not self._convictions.is_pardoned(batch.index)
            and any(look.is_accusing or (look.decision and look.decision.outcome == REJECTED) for look in batch.looks)
            for batch in identity.batches
        )

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
        self._forget(identity, foreign)
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
        """A batch that was accepted before turns out to be wrong, or is gone: it enters no window from here on.

        It is not looked at any more, but for what a verdict accuses it of.
        """
        for recheck in batch.rechecks:
            if not recheck.is_accusing:
                self._looking.pop(recheck.key, None)
        if batch.is_open:
            identity.refuse(batch)
            batch.dropped = True
            self._open.pop(batch.index)
            identity.accusing -= {batch, batch.second}
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
        self._forget(identity, batches)

    def _forget(self, identity: Identity, batches: Iterable[BatchInfo]) -> None:
        """Nobody looks at these batches any more, and nothing that was said of them is decided."""
        was_suspended = bool(identity.accusing)
        for batch in batches:
            self._open.pop(batch.index, None)
            for recheck in batch.rechecks:
                self._looking.pop(recheck.key, None)
            identity.accusing -= set(batch.looks)
        if was_suspended and not identity.accusing:
            self._count_rows()


def _is_accused(batch: BatchInfo) -> bool:
    return any(look.is_accusing for look in batch.looks)
