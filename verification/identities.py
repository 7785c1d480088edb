"""What the log says of one contributor: its batches, its series of counters, its probation and hold-back.

Spec: `docs/spec/admission.md`. A batch is released to training when its identity's first K batches are all accepted, W later
batches of the identity are accepted, no order to look at it again waits, and its series has no gap before it. Empty final
batches hold nothing to replay and count for neither K, W nor q.
"""

from bisect import bisect_right, insort
from dataclasses import dataclass, field

from protocol.admission import ACCEPTED
from protocol.manifest import AdmissionPolicy
from protocol.seeds import PPM
from verification.probation import q_ppm
from verification.series import Fill, Series
from verification.subjects import BatchSubject

SECOND = "second"
EXIT = "exit"
PARDON = "pardon"
VOID = "void"
REPEAT = "repeat"


@dataclass(slots=True, eq=False, kw_only=True)
class BatchInfo(BatchSubject):
    """A logged batch: header, verdict, decision, and what became of it.

    `second`: the look of another verifier that its decision waits for. `rechecks`: later orders to look at it again, oldest
    first. `leaving`: its identity fell silent, so that it waits for its exit's draw in place of later batches. `dropped`:
    it will never be released, because its identity was rejected or banned or its series ended at a gap before it. `fill`:
    which games of `series`, its owner's, it fills in.
    """

    series: Series = field(default_factory=Series)
    fill: Fill | None = None

    second: "Recheck | None" = None
    rechecks: list["Recheck"] = field(default_factory=list)
    released_at: int | None = None
    leaving: bool = False
    dropped: bool = False

    @property
    def is_accepted_batch(self) -> bool:
        """Whether an admission entry accepts it."""
        return self.decision is not None and self.decision.outcome == ACCEPTED

    @property
    def is_open(self) -> bool:
        """Whether it still needs a decision."""
        return self.decision is None and not self.dropped

    @property
    def looks(self) -> list[BatchSubject]:
        """Every check of it: its own, a second verifier's, and the orders to look again."""
        return [self, *([] if self.second is None else [self.second]), *self.rechecks]

    @property
    def is_blocked(self) -> bool:
        """Whether an order to look at it again has to be decided before it is released, or a gap before it to be filled."""
        if self.header.peer == self.header.owner and self.series.has_gap_before(self.header.first_counter):
            return True
        return any(each.decision is None and each.purpose != REPEAT for each in self.rechecks)


@dataclass(slots=True, eq=False, kw_only=True)
class Recheck(BatchSubject):
    """A further check of a batch, ordered by the entry at `index` for a purpose."""

    batch: BatchInfo
    purpose: str


@dataclass(frozen=True, slots=True)
class Tally:
    """Games of one identity, or of all: logged, accepted, awaiting a decision, and rejected, lost or dropped.

    `credit_plies` and `credit_visits` are those of accepted batches, whatever became of their identity.
    """

    batches: int = 0
    games: int = 0
    plies: int = 0
    verified: int = 0
    pending: int = 0
    rejected: int = 0
    credit_plies: int = 0
    credit_visits: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.batches + other.batches,
            self.games + other.games,
            self.plies + other.plies,
            self.verified + other.verified,
            self.pending + other.pending,
            self.rejected + other.rejected,
            self.credit_plies + other.credit_plies,
            self.credit_visits + other.credit_visits,
        )


@dataclass(slots=True, eq=False)
class Identity:
    """State of one contributor, whose key is `peer` now; `out_at` is the index of its rejection or ban.

    `accepted` counts since its probation last began, `accepted_at` holds the indices of all its accepted batches. `accusing`
    are verdicts against it that are not decided: it is suspended while there are any. `replayed` counts plies replayed in
    batches that were accepted, `pardoned_at` what that was at its last pardon. `scrutiny` is a least share of replay and the
    last index that it is for.
    """

    peer: bytes
    batches: list[BatchInfo] = field(default_factory=list)
    first: list[BatchInfo] = field(default_factory=list)  # with games, neither lost nor dropped before a decision
    held: list[BatchInfo] = field(default_factory=list)
    accepted: int = 0
    accepted_at: list[int] = field(default_factory=list)
    last_index: int = 0
    out_at: int | None = None
    replayed: int = 0
    pardoned_at: int = 0
    scrutiny: tuple[int, int] = (0, 0)
    scrutiny_reason: str = ""
    accusing: set[BatchSubject] = field(default_factory=set)
    tally: Tally = field(default_factory=Tally)

    @property
    def credit(self) -> tuple[int, int]:
        """Plies and visits of accepted batches; nothing after a rejection or ban."""
        return (0, 0) if self.out_at is not None else (self.tally.credit_plies, self.tally.credit_visits)

    def first_passed(self, policy: AdmissionPolicy) -> bool:
        """Whether the first K batches are all accepted."""
        k = policy.probation_batches
        return len(self.first) >= k and all(batch.is_accepted_batch for batch in self.first[:k])

    def on_probation(self, policy: AdmissionPolicy) -> bool:
        """Whether its next batch is replayed in full for want of history."""
        return self.accepted < policy.probation_batches or not self.first_passed(policy)

    def share_of_replay(self, policy: AdmissionPolicy, index: int) -> int:
        """The share of games to replay of a header at `index`, in parts per million."""
        least, last_index = self.scrutiny
        usual = q_ppm(self.accepted, self.first_passed(policy), policy)
        return max(usual, least) if index <= last_index else usual

    def later(self, batch: BatchInfo) -> int:
        """How many batches with games, logged after this one, are accepted."""
        return len(self.accepted_at) - bisect_right(self.accepted_at, batch.index)

    def add(self, batch: BatchInfo) -> None:
        """A header is logged."""
        header = batch.header
        self.last_index = batch.index
        self.batches.append(batch)
        if header.games:
            self.first.append(batch)
        self.held.append(batch)
        self.tally += Tally(1, header.games, header.plies, 0, header.games, 0)

    def accept(self, batch: BatchInfo) -> None:
        """A batch is accepted."""
        header = batch.header
        if header.games:
            self.accepted += 1
            insort(self.accepted_at, batch.index)
        self.tally += Tally(
            verified=header.games, pending=-header.games, credit_plies=header.plies, credit_visits=header.visits
        )

    def refuse(self, batch: BatchInfo) -> None:
        """A batch is rejected or lost."""
        games = batch.header.games
        self.tally += Tally(pending=-games, rejected=games)
        self.held = [each for each in self.held if each is not batch]
        self.first = [each for each in self.first if each is not batch]

    def withdraw(self, batch: BatchInfo) -> None:
        """A batch that was accepted is found to be wrong, or cannot be looked at any more."""
        header = batch.header
        batch.dropped = True
        self.held = [each for each in self.held if each is not batch]
        self.accepted_at = [index for index in self.accepted_at if index != batch.index]
        self.tally += Tally(
            verified=-header.games,
            rejected=header.games,
            credit_plies=-header.plies,
            credit_visits=-header.visits,
        )

    def drop(self, batches: list[BatchInfo]) -> None:
        """These of the held batches will never be released."""
        for batch in batches:
            if batch.is_open:
                self.tally += Tally(pending=-batch.header.games, rejected=batch.header.games)
            batch.dropped = True
        self.held = [each for each in self.held if not each.dropped]
        self.first = [each for each in self.first if each.is_accepted_batch or not each.dropped]

    def restart(self) -> None:
        """Probation begins anew: the next K batches are replayed in full, and nothing is released until all are accepted."""
        self.accepted, self.first = 0, []

    def release(self, policy: AdmissionPolicy, index: int) -> list[BatchInfo]:
        """Takes from the held batches, and gives in log order, those that may be released at `index`."""
        if self.out_at is not None or self.accusing or not self.first_passed(policy):
            return []
        if any(each.purpose == PARDON and each.decision is None for batch in self.held for each in batch.rechecks):
            return []
        released: list[BatchInfo] = []
        may_leave = not any(batch.is_blocked for batch in self.held if batch.leaving)
        for batch in self.held:
            if batch.is_open:
                break  # what is released rests on the draws of all that came before it
            is_due = self.later(batch) >= policy.hold_back_batches or (batch.leaving and may_leave)
            if batch.is_accepted_batch and is_due and not batch.is_blocked:
                batch.released_at = index
                released.append(batch)
        if released:
            self.held = [batch for batch in self.held if batch.released_at is None]
        return released


def is_full(check: BatchSubject) -> bool:
    """Whether a check replays every game."""
    return check.chosen is None and check.q_ppm == PPM


def batch_of(check: BatchSubject) -> BatchInfo:
    """The batch that a check looks at."""
    if isinstance(check, Recheck):
        return check.batch
    assert isinstance(check, BatchInfo)
    return check
