"""Ringers: batches of the coordinator's own with a game wrong on purpose; committed to before, revealed after the verdicts.

Spec: `docs/spec/ringer.md`. Invariants: no batch is called a ringer unless its commitment was logged before its header; none
is revealed while a verifier still has to judge it; nothing of a revealed key enters a window or counts for anybody, and
nobody is banned for the game that was wrong on purpose.
"""

from dataclasses import dataclass

from protocol.entries import Entry
from protocol.proof import CONTRIBUTOR, FraudProof
from protocol.ringer import RingerHash, RingerReveal
from protocol.seeds import ringer_commitment
from verification.batches import Batches
from verification.convictions import Convictions
from verification.faults import LogFault
from verification.identities import BatchInfo
from verification.roles import Change, Roles
from verification.subjects import BatchSubject


@dataclass(frozen=True, slots=True)
class RingerInfo:
    """A ringer that the entry at `revealed_at` opened: its batch, and the absolute ply of the game that is wrong."""

    batch: BatchInfo
    game: int
    ply: int
    revealed_at: int


class Ringers:
    """All commitments and reveals of the log."""

    def __init__(self, roles: Roles, convictions: Convictions, batches: Batches) -> None:
        self._roles = roles
        self._convictions = convictions
        self._batches = batches
        self._committed: dict[bytes, int] = {}
        self._revealed: dict[bytes, RingerInfo] = {}

    # ---- queries

    @property
    def all(self) -> tuple[RingerInfo, ...]:
        """Every revealed ringer, in the order of the reveals."""
        return tuple(self._revealed.values())

    @property
    def committed(self) -> int:
        """How many commitments are logged, those that nobody opened included."""
        return len(self._committed)

    @property
    def newest_commitment(self) -> int | None:
        """The log index of the newest commitment."""
        return next(reversed(self._committed.values()), None)

    def find(self, peer: bytes) -> RingerInfo | None:
        """The ringer that `peer` sent, once it is revealed."""
        return self._revealed.get(peer)

    def committed_at(self, commitment: bytes) -> int | None:
        """The log index of a commitment."""
        return self._committed.get(commitment)

    def missed(self) -> list[BatchSubject]:
        """Checks of ringers whose verdict accepts the wrong game although it was drawn, by verifiers not banned yet."""
        return [
            look
            for ringer in self._revealed.values()
            for look in ringer.batch.looks
            if look.is_accepted
            and look.verdict is not None
            and ringer.game in look.verdict.drawn
            and not self._convictions.is_banned(look.verdict.verifier)
        ]

    def may_reveal(self, batch: BatchInfo, index: int) -> bool:
        """Whether every verifier that has to judge a batch has done so before the entry at `index`."""
        if not batch.is_open:
            return True
        lapsed = index > batch.index + 2 * self._roles.manifest.admission.timeout_entries
        waits_for_second = batch.second is not None and batch.second.verdict is None and not lapsed
        return batch.verdict is not None and not waits_for_second

    # ---- changes

    def change_hash(self, entry: Entry, record: RingerHash, index: int) -> Change:
        """Checks a commitment; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        if record.commitment in self._committed:
            raise LogFault("The ringer's commitment is logged already.")

        def change() -> None:
            self._committed[record.commitment] = index

        return change

    def change_reveal(self, entry: Entry, record: RingerReveal, index: int) -> Change:
        """Checks that a reveal opens a commitment from before the header, once its verdicts are logged; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        batch = self._batches.find(record.index)
        if batch is None:
            raise LogFault(f"No batch is logged at entry {record.index}.")
        peer = batch.header.peer
        if peer in self._revealed:
            raise LogFault("The ringer's key is revealed already.")
        if record.game >= batch.games:
            raise LogFault("The ringer has no such game.")
        commitment = ringer_commitment(record.run, batch.digest, record.game, record.ply, record.salt)
        committed_at = self._committed.get(commitment)
        if committed_at is None or committed_at > batch.index:
            raise LogFault(f"No commitment from before entry {record.index} says that it is a ringer.")
        if not self.may_reveal(batch, index):
            raise LogFault("A verifier still has to judge the ringer.")

        def change() -> None:
            self._revealed[peer] = RingerInfo(batch, record.game, record.ply, index)
            self._convictions.show(batch.index, index)
            self._convictions.absolve(batch.header)
            self._batches.retire(peer, index)

        return change

    def check_proof(self, proof: FraudProof) -> None:
        """Raises LogFault for a proof against a contributor of what was wrong on purpose."""
        if proof.accused == CONTRIBUTOR and any(each.batch.index == proof.header.index for each in self.all):
            raise LogFault("What the ban's proof shows is a ringer's, wrong on purpose.")
