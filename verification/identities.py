"""What the log says of one contributor: its batches, its series of counters, its probation and hold-back.

Spec: `docs/spec/admission.md`. A batch is released to training when its identity's first K batches are all accepted and W
later batches of the identity are accepted. Empty final batches hold nothing to replay and count for neither K, W nor q.
"""

from dataclasses import dataclass, field

from protocol.admission import ACCEPTED, Decision
from protocol.header import BatchHeader
from protocol.manifest import AdmissionPolicy
from verification.subjects import BatchSubject


@dataclass(slots=True, eq=False, kw_only=True)
class BatchInfo(BatchSubject):
    """A logged batch: header, verdict, decision, and what became of it.

    `dropped`: it will never be released, because its identity was rejected or banned or its series has a gap before it.
    """

    header: BatchHeader
    decision: Decision | None = None
    decided_at: int | None = None
    released_at: int | None = None
    dropped: bool = False

    @property
    def is_accepted_batch(self) -> bool:
        """Whether an admission entry accepts it."""
        return self.decision is not None and self.decision.outcome == ACCEPTED

    @property
    def is_open(self) -> bool:
        """Whether it still needs a decision."""
        return self.decision is None and not self.dropped


@dataclass(slots=True)
class Series:
    """The counters of one (owner, release): the next free one, and whether more headers may follow."""

    next_counter: int = 0
    closed: bool = False
    gap: BatchInfo | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """Games of one identity, or of all: logged, accepted, awaiting a decision, and rejected, lost or dropped."""

    batches: int = 0
    games: int = 0
    plies: int = 0
    verified: int = 0
    pending: int = 0
    rejected: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.batches + other.batches,
            self.games + other.games,
            self.plies + other.plies,
            self.verified + other.verified,
            self.pending + other.pending,
            self.rejected + other.rejected,
        )


@dataclass(slots=True)
class Identity:
    """State of one contributor; `out_at` is the index of its rejection or ban."""

    peer: bytes
    first: list[BatchInfo] = field(default_factory=list)  # with games, neither lost nor dropped before a decision
    held: list[BatchInfo] = field(default_factory=list)
    accepted: int = 0
    last_index: int = 0
    out_at: int | None = None
    tally: Tally = field(default_factory=Tally)

    def first_passed(self, policy: AdmissionPolicy) -> bool:
        """Whether the first K batches are all accepted."""
        k = policy.probation_batches
        return len(self.first) >= k and all(batch.is_accepted_batch for batch in self.first[:k])

    def add(self, batch: BatchInfo) -> None:
        """A header is logged."""
        header = batch.header
        self.last_index = batch.index
        if header.games:
            self.first.append(batch)
        self.held.append(batch)
        self.tally += Tally(1, header.games, header.plies, 0, header.games, 0)

    def accept(self, batch: BatchInfo, policy: AdmissionPolicy, index: int) -> list[BatchInfo]:
        """A batch is accepted at `index`; returns the batches that this releases, in log order."""
        games = batch.header.games
        self.accepted += games > 0
        self.tally += Tally(verified=games, pending=-games)
        if batch.dropped or not self.first_passed(policy):
            return []
        later, released = 0, []
        for each in reversed(self.held):
            if each.is_accepted_batch:
                if later >= policy.hold_back_batches:
                    each.released_at = index
                    released.append(each)
                later += each.header.games > 0
        if released:
            self.held = [each for each in self.held if each.released_at is None]
        return released[::-1]

    def refuse(self, batch: BatchInfo) -> None:
        """A batch is rejected or lost."""
        games = batch.header.games
        self.tally += Tally(pending=-games, rejected=games)
        self.held = [each for each in self.held if each is not batch]
        self.first = [each for each in self.first if each is not batch]

    def drop(self, batches: list[BatchInfo]) -> None:
        """These of the held batches will never be released."""
        for batch in batches:
            if batch.is_open:
                self.tally += Tally(pending=-batch.header.games, rejected=batch.header.games)
            batch.dropped = True
        self.held = [each for each in self.held if not each.dropped]
        self.first = [each for each in self.first if each.is_accepted_batch or not each.dropped]
