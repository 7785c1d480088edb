"""Orders to look at batches again: of who fell silent, of what a doubtful verifier judged, of who is pardoned or odd.

Spec: `docs/spec/orders.md`. Pure. Each order is an entry of the log (or the reveal that shows a fault); the beacon of its
index assigns other verifiers and draws games anew. An order only ever has more replayed.
"""

from collections import deque
from collections.abc import Sequence

from protocol.entries import Entry
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import Pardon
from protocol.seeds import PPM, is_picked
from protocol.verdict import Verdict
from verification.batches import Batches
from verification.beacons import Beacons
from verification.convictions import Convictions
from verification.epochs import EpochInfo, Epochs
from verification.faults import LogFault
from verification.identities import EXIT, PARDON, REPEAT, VOID, BatchInfo, Identity, batch_of
from verification.roles import Change, Roles
from verification.subjects import BatchSubject, Subjects

REPEATED = "repeat"


class Rechecks:
    """All orders of the log, and what is due to be ordered."""

    def __init__(
        self,
        roles: Roles,
        epochs: Epochs,
        beacons: Beacons,
        convictions: Convictions,
        subjects: Subjects,
        batches: Batches,
    ) -> None:
        self._roles = roles
        self._epochs = epochs
        self._beacons = beacons
        self._convictions = convictions
        self._subjects = subjects
        self._batches = batches
        self._revealed: list[EpochInfo] = []  # their repeats are not drawn yet
        self._void: set[tuple[bytes, int]] = set()
        self._unconfirmed: deque[tuple[int, BatchSubject, Verdict]] = (
            deque()
        )  # up to which index a decision has to come
        self.alone: list[tuple[BatchInfo, tuple[int, ...]]] = []
        """Batches with the games that only the coordinator can repeat, since no other verifier is there."""

    # ---- silence

    def silent(self, index: int) -> list[bytes]:
        """Contributors whose exit an entry at `index` may order, longest silent first."""
        due = [each for each in self._batches.identities if self._exit_fault(each, index) is None]
        return [each.peer for each in sorted(due, key=lambda each: each.last_index)]

    def change_exit(self, entry: Entry, record: Exit, index: int) -> Change:
        """Checks an exit; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        leaving = [self._identity(peer) for peer in record.peers]
        for identity in leaving:
            fault = self._exit_fault(identity, index)
            if fault is not None:
                raise LogFault(fault)

        def change() -> None:
            for identity in leaving:
                for batch in self._leaving(identity):
                    batch.leaving = True
                    self._batches.order(batch, EXIT, index, self._roles.manifest.admission.exit_ppm)
                self._batches.release(identity, index)

        return change

    def _exit_fault(self, identity: Identity, index: int) -> str | None:
        policy, name = self._roles.manifest.admission, identity.peer.hex()[:16]
        if index <= identity.last_index + policy.exit_entries:
            return f"Contributor {name} is not silent for {policy.exit_entries} entries."
        if identity.out_at is not None or identity.accusing or not identity.first_passed(policy):
            return f"Contributor {name} is on probation, accused or out."
        if not self._leaving(identity) or any(batch.is_open for batch in identity.held):
            return f"Contributor {name} has no batches that only wait for later ones."
        return None

    @staticmethod
    def _leaving(identity: Identity) -> list[BatchInfo]:
        return [batch for batch in identity.held if batch.is_accepted_batch and not batch.leaving]

    # ---- doubtful verifiers

    def overdue(self, index: int) -> list[EpochInfo]:
        """Epochs that an entry at `index` may void, oldest first."""
        found = [
            epoch
            for verifier in self._epochs.verifiers
            for epoch in self._epochs.all(verifier)
            if self._void_fault(epoch, index) is None
        ]
        return sorted(found, key=lambda epoch: epoch.index)

    def change_void(self, entry: Entry, record: VoidEpoch, index: int) -> Change:
        """Checks that an epoch is void; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        epoch = self._epochs.find(record.verifier, record.epoch)
        if epoch is None:
            raise LogFault(f"The verifier has no epoch {record.epoch}.")
        fault = self._void_fault(epoch, index)
        if fault is not None:
            raise LogFault(fault)
        info = epoch

        def change() -> None:
            self._void.add((info.verifier, info.epoch))
            self.distrust(info.verifier, index, self._batches.judged(info.verifier, info.epoch))

        return change

    def is_void(self, epoch: EpochInfo) -> bool:
        """Whether an epoch was voided."""
        return (epoch.verifier, epoch.epoch) in self._void

    def distrust(self, verifier: bytes, index: int, anew: Sequence[BatchSubject] = ()) -> None:
        """From entry `index` on a verifier judges nothing; others judge what it has not finished, and the batches of `anew`.

        These are ordered before anything is let go: what is judged anew is not released by the same entry.
        """
        undecided = list(self._batches.undecided())
        self._subjects.distrust(verifier, undecided)
        self._judge_anew(anew, index, verifier)
        self._batches.absolve(undecided, index)

    def convict(self, verifier: bytes, index: int) -> None:
        """A proof shows that a verifier lied: what it judged lately, and all of it that is not released, is judged anew."""
        since = index - self._roles.manifest.admission.exit_entries
        self.doubt(verifier, since, index, held_too=True)

    def doubt(self, verifier: bytes, since: int, index: int, held_too: bool = False) -> None:
        """Verdicts that a verifier logged from `since` on are judged anew; with `held_too` all of held batches."""
        looks = [
            look
            for look in self._batches.judged(verifier)
            if look.verdict_index >= since or (held_too and batch_of(look).released_at is None)
        ]
        self.distrust(verifier, index, looks)

    def _judge_anew(self, looks: Sequence[BatchSubject], index: int, but: bytes) -> None:
        batches = {batch_of(look).index: batch_of(look) for look in looks}
        for batch in batches.values():
            if batch.is_accepted_batch and not batch.dropped:
                self._batches.order(batch, VOID, index, batch.q_ppm, but=but)

    def _void_fault(self, epoch: EpochInfo, index: int) -> str | None:
        policy = self._roles.manifest.admission
        if epoch.secret is not None:
            return f"Epoch {epoch.epoch} is revealed."
        if self.is_void(epoch):
            return f"Epoch {epoch.epoch} is void already."
        following = self._epochs.find(epoch.verifier, epoch.epoch + 1)
        end = epoch.index + policy.epoch_entries + policy.exit_entries if following is None else following.index
        if index <= end + policy.timeout_entries:
            return f"Epoch {epoch.epoch} may still be revealed."
        return None

    # ---- verdicts that nothing comes of

    def judged(self, check: BatchSubject, index: int) -> None:
        """A batch has a verdict, logged at `index`: unless an accusation, it has to lead to a decision in time."""
        if check.verdict is not None and not check.is_accusing:
            self._unconfirmed.append((index + self._roles.manifest.admission.timeout_entries, check, check.verdict))

    def settle(self, size: int) -> None:
        """Verdicts that led to nothing before the entry at `size` fall away, where another verifier can judge.

        Their traces are not opened, or not those of the games; or the blob that they call wrong is not.
        """
        while self._unconfirmed and self._unconfirmed[0][0] < size:
            _, check, verdict = self._unconfirmed.popleft()
            batch, timeout = batch_of(check), self._roles.manifest.admission.timeout_entries
            is_first = check in (batch, batch.second)
            decision = batch.decision if is_first else check.decision
            if check.verdict is not verdict or decision is not None or batch.dropped:
                continue
            other = (batch.second if check is batch else batch) if is_first else None
            if check.is_complete and other is not None and not other.is_complete and size <= batch.index + 3 * timeout:
                self._unconfirmed.append((size + timeout, check, verdict))
                continue
            judges = {verdict.verifier} | ({other.verdict.verifier} if other is not None and other.verdict else set())
            if check.candidates.keys() - judges:
                self._subjects.dismiss(check)

    # ---- repeats

    def revealed(self, epoch: EpochInfo) -> None:
        """A secret is revealed: its index's beacon picks accepted games that are replayed once more."""
        if self._roles.manifest.admission.repeat_ppm:
            self._revealed.append(epoch)

    def pick(self) -> None:
        """Orders the repeats of epochs whose reveal has its beacon."""
        for epoch in list(self._revealed):
            value = None if epoch.revealed_at is None else self._beacons.value(epoch.revealed_at)
            if value is None or epoch.revealed_at is None:
                continue
            self._revealed.remove(epoch)
            share = self._roles.manifest.admission.repeat_ppm
            for look in self._batches.judged(epoch.verifier, epoch.epoch):
                batch = batch_of(look)
                if look is not batch or not batch.is_accepted_batch or batch.dropped:
                    continue
                games = tuple(
                    game
                    for game in range(batch.games)
                    if is_picked(REPEATED, value, batch.digest + game.to_bytes(4, "little"), share)
                )
                if games and not self._batches.order(
                    batch, REPEAT, epoch.revealed_at, chosen=games, but=epoch.verifier
                ):
                    self.alone.append((batch, games))

    # ---- pardon and scrutiny

    def may_pardon(self, batch: BatchInfo, index: int) -> bool:
        """Whether one wrong ply in a batch may be forgiven: a lone one, and earned since the last or failed in an alarm."""
        identity = self._batches.identity(batch.header.peer)
        if identity is None or identity.out_at is not None or not identity.accusing <= set(batch.looks):
            return False
        earned = identity.replayed - identity.pardoned_at
        if earned >= self._roles.manifest.admission.pardon_plies:
            return True
        return self._convictions.alarm.reason(batch.header, index) is not None

    def change_pardon(self, entry: Entry, record: Pardon, index: int) -> Change:
        """Checks a pardon; raises LogFault."""
        header_index = self._convictions.check_pardon(entry, record, index)
        batch = self._batches.find(header_index)
        if batch is None or not any(look.is_accusing for look in batch.looks):
            raise LogFault("No verdict accuses whom the pardon is for.")
        if not self.may_pardon(batch, index):
            raise LogFault("Whom the pardon is for has none to use.")
        identity = self._identity(batch.header.peer)

        def change() -> None:
            identity.pardoned_at = identity.replayed
            self._convictions.forgive(header_index, index)
            for held in identity.held:
                if held is not batch:
                    self._batches.order(held, PARDON, index, PPM)

        return change

    def change_scrutiny(self, entry: Entry, record: Scrutiny, index: int) -> Change:
        """Checks that more of a contributor's games are to be replayed; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        identity = self._identity(record.peer)
        if record.last_index <= index:
            raise LogFault("The scrutiny ends before it begins.")
        least, last_index = identity.scrutiny
        if index < last_index and (record.q_ppm < least or record.last_index < last_index):
            raise LogFault("A scrutiny cannot lessen the one before it.")

        def change() -> None:
            identity.scrutiny = record.q_ppm, record.last_index
            identity.scrutiny_reason = record.reason
            if record.restart:
                identity.restart()

        return change

    def _identity(self, peer: bytes) -> Identity:
        identity = self._batches.identity(peer)
        if identity is None:
            raise LogFault(f"Contributor {peer.hex()[:16]} has no batch in the log.")
        return identity
