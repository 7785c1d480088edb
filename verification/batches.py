"""Game batches in the log: which headers, verdicts and orders to look again may be there.

Spec: `docs/spec/admission.md`, `docs/spec/batch-header.md`. Invariants: counters of (owner, release) are
contiguous in log order, but for games that others fill in; who is accused sends nothing until a proof is logged.
"""

from protocol.entries import Entry
from protocol.header import BatchHeader
from protocol.seeds import PPM, is_second_assigned
from protocol.verdict import BLOB, Verdict
from verification.decisions import Decisions
from verification.faults import LogFault, NotYet
from verification.identities import REPEAT, SECOND, BatchInfo, Identity, Recheck, batch_of, is_full
from verification.releases import ReleaseInfo
from verification.roles import Change
from verification.series import Fill, Series
from verification.setup import config_digest
from verification.subjects import BatchSubject, require_drawn


class Batches(Decisions):
    """All batches of the log, and what may be logged of them."""

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
        """Has a batch looked at again by the entry at `index`, by another verifier than `but`; None if there is none.

        An entry orders one look at a batch, for verdicts and decisions name its index: a second order is the first one.
        """
        known = next((each for each in batch.rechecks if each.index == index), None)
        if known is not None:
            return known
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
        is_decided = (batch if check is batch.second else check).decision is not None
        if is_decided or (batch.dropped and check.key not in self._looking):
            raise LogFault(f"The batch at entry {batch.index} needs no verdict any more.")
        if check.chosen is not None:
            require_drawn(verdict, check.chosen)
        elif is_full(check):
            require_drawn(verdict, tuple(range(check.games)))
        if verdict.evidence not in ("", BLOB) and verdict.game >= check.games:
            raise LogFault("The verdict's evidence is in a game that its subject does not have.")

        def change() -> None:
            check.verdict, check.verdict_index = verdict, index
            self._said.setdefault(verdict.verifier, {}).setdefault(verdict.epoch, []).append(check)
            if check.is_accusing:
                self._identities[check.header.peer].accusing.add(check)
                self._convictions.accuse(check.header, verdict, index)
                self._count_rows()

        return change

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
