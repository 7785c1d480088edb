"""What a verdict may be about: a logged batch header or gate result, or an order to look at a batch again.

Spec: `docs/spec/verdict.md`. Invariants: the verifiers who may judge are those with a valid role and an open epoch when the
subject was logged or ordered; the first by rank is assigned, the others may take over after a timeout; one verdict a
subject; of a distrusted verifier nothing undecided stays.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from protocol.admission import Decision
from protocol.header import BatchHeader
from protocol.seeds import PPM, drawn_games
from protocol.verdict import ACCEPT, BLOB, TraceOpening, Verdict
from verification.beacons import Beacons
from verification.draws import assigned_verifier, drawn_gate_games
from verification.epochs import Epochs
from verification.faults import LogFault
from verification.roles import Roles


@dataclass(slots=True, eq=False)
class Subject:
    """State of a subject logged or ordered at `index`. `candidates` maps verifiers to the epoch whose secret draws."""

    index: int
    digest: bytes
    games: int
    semantics: str
    candidates: dict[bytes, int]
    beacon: bytes | None = None
    assigned: bytes | None = None
    verdict: Verdict | None = None
    verdict_index: int = 0
    opening: TraceOpening | None = None

    @property
    def key(self) -> bytes:
        """What tells it from all others, orders to look at the same batch again included: digest and u64 index."""
        return self.digest + self.index.to_bytes(8, "little")

    @property
    def is_complete(self) -> bool:
        """Whether it has a verdict and, if games were replayed, the opening of their traces."""
        return self.verdict is not None and (self.opening is not None or not self.verdict.drawn)

    @property
    def is_accepted(self) -> bool:
        """Whether it has a verdict that accepts."""
        return self.verdict is not None and self.verdict.outcome == ACCEPT

    @property
    def drew_all(self) -> bool:
        """Whether its verdict replayed every game."""
        return self.verdict is not None and len(self.verdict.drawn) == self.games

    def may_judge(self, verifier: bytes, index: int, timeout_entries: int) -> bool:
        """Whether a verdict of `verifier` may be logged at `index`: assigned, or taking over after the timeout."""
        if self.beacon is None or verifier not in self.candidates:
            return False
        return self.assigned == verifier or index > self.index + timeout_entries


@dataclass(slots=True, eq=False, kw_only=True)
class BatchSubject(Subject):
    """A batch: its games are drawn with the verifier's secret, each with probability `q_ppm`, or `chosen` for all to see."""

    header: BatchHeader
    q_ppm: int = PPM
    chosen: tuple[int, ...] | None = None
    decision: Decision | None = None
    decided_at: int | None = None

    @property
    def is_accusing(self) -> bool:
        """Whether it has a verdict that accuses the batch's signer of something that a proof shows, yet undecided."""
        verdict = self.verdict
        return self.decision is None and verdict is not None and verdict.evidence not in ("", BLOB)

    def draw(self, secret: bytes) -> tuple[int, ...]:
        """The games that the holder of an epoch's secret replays."""
        if self.beacon is None:
            raise LogFault("The batch has no beacon yet.")
        if self.chosen is not None:
            return self.chosen
        return drawn_games(secret, self.digest, self.index, self.beacon, self.games, self.q_ppm)


@dataclass(slots=True, eq=False)
class GateSubject(Subject):
    """A gate result: its pairs are drawn by the beacon, the same for every verifier."""

    replay_ppm: int = 10**6

    @property
    def drawn(self) -> tuple[int, ...]:
        """The games to replay."""
        if self.beacon is None:
            raise LogFault("The gate result has no beacon yet.")
        return drawn_gate_games(self.beacon, self.digest, self.games // 2, self.replay_ppm)


@dataclass(slots=True)
class Subjects:
    """All subjects by log index, and the rules of verdicts and openings that batches and gate results share."""

    roles: Roles
    epochs: Epochs
    beacons: Beacons
    all: list[Subject] = field(default_factory=list)
    by_digest: dict[bytes, Subject] = field(default_factory=dict)
    distrusted: set[bytes] = field(default_factory=set)
    _by_key: dict[bytes, list[Subject]] = field(default_factory=dict)
    _waiting: list[Subject] = field(default_factory=list)

    def candidates(self, index: int) -> dict[bytes, int]:
        """Who may judge what is logged at `index`."""
        found = {}
        for role in self.roles.verifiers(index):
            epoch = self.epochs.at(role.key, index)
            if epoch is not None and role.key not in self.distrusted:
                found[role.key] = epoch.epoch
        return found

    def add(self, subject: Subject) -> None:
        """Adds a subject; it waits for its beacon, if there is none yet."""
        self.all.append(subject)
        self.by_digest.setdefault(subject.digest, subject)
        self._by_key.setdefault(subject.key, []).append(subject)
        subject.beacon = self.beacons.value(subject.index)
        if subject.beacon is None:
            self._waiting.append(subject)
        else:
            self._assign(subject)

    def assign(self) -> list[Subject]:
        """Gives those that a new share set covers their beacon and verifier; which these are."""
        ready = [subject for subject in self._waiting if subject.index < self.beacons.covered]
        self._waiting = [subject for subject in self._waiting if subject.index >= self.beacons.covered]
        for subject in ready:
            subject.beacon = self.beacons.value(subject.index)
            self._assign(subject)
        return ready

    def distrust(self, verifier: bytes, undecided: Iterable[Subject]) -> None:
        """A verifier judges nothing more; its verdicts on subjects that are `undecided` fall away, others judge them."""
        self.distrusted.add(verifier)
        for subject in undecided:
            subject.candidates.pop(verifier, None)
            if subject.verdict is not None and subject.verdict.verifier == verifier:
                self.dismiss(subject)
            elif subject.verdict is None:
                self._assign(subject)

    def dismiss(self, subject: Subject) -> None:
        """A verdict falls away; its verifier does not judge the subject again, others do."""
        assert subject.verdict is not None
        subject.candidates.pop(subject.verdict.verifier, None)
        subject.verdict, subject.opening = None, None
        self._assign(subject)

    def _assign(self, subject: Subject) -> None:
        value, digest = subject.beacon, subject.digest
        if value is not None:
            busy = {each.assigned for each in self._by_key[subject.key] if each is not subject}
            free = [key for key in subject.candidates if key not in busy] or list(subject.candidates)
            subject.assigned = assigned_verifier(value, digest, free)

    def check_verdict(self, verdict: Verdict, index: int) -> Subject:
        """The subject of a verdict; raises LogFault unless its author may judge it now, as stated."""
        looks = self._by_key.get(verdict.subject + verdict.index.to_bytes(8, "little"), [])
        if not looks:
            raise LogFault(f"The verdict's subject is not logged at entry {verdict.index}.")
        if verdict.verifier in self.distrusted:
            raise LogFault("The verdict is by a verifier that is trusted no more.")
        said = [each.verdict.verifier for each in looks if each.verdict is not None]
        if len(said) == len(looks) or verdict.verifier in said:
            raise LogFault(f"Entry {verdict.index} has its verdict already.")
        if looks[0].beacon is None:
            raise LogFault(f"Entry {verdict.index} has no beacon yet, so nothing is drawn from it.")
        subject = next((each for each in looks if self._may_judge(each, verdict.verifier, index)), None)
        if subject is None:
            raise LogFault(f"Entry {verdict.index} is another verifier's to judge.")
        if verdict.epoch != subject.candidates[verdict.verifier]:
            raise LogFault(f"The verdict is not made under the epoch that entry {verdict.index} belongs to.")
        if verdict.semantics != subject.semantics:
            raise LogFault("The verdict's semantics are not its subject's.")
        if verdict.drawn and verdict.drawn[-1] >= subject.games:
            raise LogFault("The verdict names a game that its subject does not have.")
        return subject

    def check_opening(self, opening: TraceOpening) -> Subject:
        """The subject of a trace opening; raises LogFault unless its author's verdict is logged and not yet opened."""
        looks = self._by_key.get(opening.subject + opening.index.to_bytes(8, "little"), [])
        judged = [each for each in looks if each.verdict is not None]
        if not judged:
            raise LogFault("The trace opening's subject has no verdict.")
        by_author = [each for each in judged if each.verdict is not None and each.verdict.verifier == opening.verifier]
        if not by_author:
            raise LogFault("The trace opening is by another verifier than the verdict.")
        subject = by_author[0]
        if subject.opening is not None:
            raise LogFault("The verdict's traces are opened already.")
        return subject

    def may_judge(self, subject: Subject, verifier: bytes, index: int) -> bool:
        """Whether a verdict of `verifier` on a subject may be logged at `index`."""
        looks = self._by_key[subject.key]
        said = any(each.verdict is not None and each.verdict.verifier == verifier for each in looks)
        return not said and verifier not in self.distrusted and self._may_judge(subject, verifier, index)

    def _may_judge(self, subject: Subject, verifier: bytes, index: int) -> bool:
        timeout = self.roles.manifest.admission.timeout_entries
        return subject.verdict is None and subject.may_judge(verifier, index, timeout)


def require_drawn(verdict: Verdict, drawn: tuple[int, ...]) -> None:
    """Raises LogFault unless a verdict's drawn games are the right ones: all on accept, the first ones on reject."""
    right = drawn if verdict.outcome == ACCEPT else drawn[: len(verdict.drawn)]
    if verdict.drawn != right:
        raise LogFault("The verdict's drawn games are not those that the draw gives.")
