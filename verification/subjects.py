"""What a verdict may be about: a logged batch header or gate result, with its verifiers, verdict and opening.

Spec: `docs/spec/verdict.md`. Invariants: the verifiers who may judge are those with a valid role and an open epoch when the
subject was logged; the first by rank is assigned, the others may take over after a timeout; one verdict a subject.
"""

from dataclasses import dataclass, field

from protocol.seeds import drawn_games
from protocol.verdict import ACCEPT, TraceOpening, Verdict
from verification.beacons import Beacons
from verification.draws import assigned_verifier, drawn_gate_games
from verification.epochs import Epochs
from verification.faults import LogFault
from verification.registry import Registry
from verification.roles import Roles


@dataclass(slots=True, eq=False)
class Subject:
    """State of a subject logged at `index`. `candidates` maps verifiers to the epoch whose secret draws."""

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


@dataclass(slots=True, eq=False)
class BatchSubject(Subject):
    """A batch: its games are drawn with the verifier's secret, each with probability `q_ppm`."""

    q_ppm: int = 10**6

    def draw(self, secret: bytes) -> tuple[int, ...]:
        """The games that the holder of an epoch's secret replays."""
        if self.beacon is None:
            raise LogFault("The batch has no beacon yet.")
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
    registry: Registry
    epochs: Epochs
    beacons: Beacons
    by_index: dict[int, Subject] = field(default_factory=dict)
    by_digest: dict[bytes, Subject] = field(default_factory=dict)
    waiting: list[Subject] = field(default_factory=list)

    def candidates(self, index: int) -> dict[bytes, int]:
        """Who may judge what is logged at `index`."""
        found = {}
        for role in self.roles.verifiers(index):
            epoch = self.epochs.at(role.key, index)
            if epoch is not None and not self.registry.is_banned(role.key):
                found[role.key] = epoch.epoch
        return found

    def add(self, subject: Subject) -> None:
        """Adds a subject; it waits for its beacon."""
        self.by_index[subject.index] = subject
        self.by_digest[subject.digest] = subject
        self.waiting.append(subject)

    def assign(self) -> None:
        """Gives those that a new share set covers their beacon and verifier."""
        covered = self.beacons.covered
        for subject in self.waiting:
            value = self.beacons.value(subject.index)
            if value is not None:
                subject.beacon = value
                subject.assigned = assigned_verifier(value, subject.digest, subject.candidates)
        self.waiting = [subject for subject in self.waiting if subject.index >= covered]

    def check_verdict(self, verdict: Verdict, index: int) -> Subject:
        """The subject of a verdict; raises LogFault unless its author may judge it now, as stated."""
        subject = self.by_index.get(verdict.index)
        if subject is None or subject.digest != verdict.subject:
            raise LogFault(f"The verdict's subject is not logged at entry {verdict.index}.")
        if self.registry.is_banned(verdict.verifier):
            raise LogFault("The verdict is by a banned verifier.")
        if subject.verdict is not None:
            raise LogFault(f"Entry {verdict.index} has its verdict already.")
        if subject.beacon is None:
            raise LogFault(f"Entry {verdict.index} has no beacon yet, so nothing is drawn from it.")
        if not subject.may_judge(verdict.verifier, index, self.roles.manifest.admission.timeout_entries):
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
        subject = self.by_digest.get(opening.subject)
        if subject is None or subject.verdict is None:
            raise LogFault("The trace opening's subject has no verdict.")
        if subject.verdict.verifier != opening.verifier:
            raise LogFault("The trace opening is by another verifier than the verdict.")
        if subject.opening is not None:
            raise LogFault("The verdict's traces are opened already.")
        return subject


def require_drawn(verdict: Verdict, drawn: tuple[int, ...]) -> None:
    """Raises LogFault unless a verdict's drawn games are the right ones: all on accept, the first ones on reject."""
    right = drawn if verdict.outcome == ACCEPT else drawn[: len(verdict.drawn)]
    if verdict.drawn != right:
        raise LogFault("The verdict's drawn games are not those that the draw gives.")
