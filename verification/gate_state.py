"""The gate of one candidate as the log has it: its slots of pairs, their results, and what is counted so far.

Spec: `docs/spec/gate.md`. Pairs are counted in the order of their numbers, whoever finishes first.
"""

from dataclasses import dataclass, field

from protocol.gate import GateAssignment, GateRecord, GateResult
from protocol.manifest import Manifest
from protocol.window import TrainRecord
from verification.gate import REFUSED, Gate, GateDecision, is_recount, is_refused_by_rounding
from verification.releases import ReleaseInfo
from verification.subjects import GateSubject


@dataclass(slots=True, eq=False, kw_only=True)
class GateResultInfo(GateSubject):
    """A logged gate result."""

    result: GateResult
    assignment: GateAssignment


@dataclass(slots=True)
class Slot:
    """A run of pairs: who has it now, since which log index, and its result."""

    assignment: GateAssignment
    index: int
    result: GateResultInfo | None = None

    @property
    def is_complete(self) -> bool:
        """Whether its pairs count."""
        return self.result is not None and self.result.is_accepted and self.result.is_complete

    @property
    def is_rejected(self) -> bool:
        """Whether its result was refused."""
        return self.result is not None and self.result.verdict is not None and not self.result.is_accepted


@dataclass(slots=True)
class GateState:
    """The gate of one candidate."""

    index: int
    digest: bytes
    train: TrainRecord
    base: ReleaseInfo
    manifest: Manifest
    gate: Gate
    slots: list[Slot] = field(default_factory=list)
    by_assignment: dict[int, Slot] = field(default_factory=dict)
    scores: list[int] = field(default_factory=list)
    barred: set[bytes] = field(default_factory=set)
    counted: int = 0
    record: GateRecord | None = None
    record_index: int | None = None

    @property
    def decision(self) -> GateDecision:
        """What rounding and the counted prefix of pairs say so far."""
        return REFUSED if self.is_refused_unplayed else self.gate.decision

    @property
    def is_refused_unplayed(self) -> bool:
        """Whether rounding cost the candidate too much for any game."""
        return is_refused_by_rounding(self.train.rounding, self.manifest.training)

    @property
    def assigned_pairs(self) -> int:
        """How many pairs were given out."""
        return sum(slot.assignment.pairs for slot in self.slots)

    @property
    def played_pairs(self) -> int:
        """How many pairs have a result that nobody refused, whether they count already or not."""
        return sum(slot.assignment.pairs for slot in self.slots if slot.result is not None and not slot.is_rejected)

    def count(self) -> None:
        """Counts the complete slots that follow the counted prefix."""
        while self.counted < len(self.slots) and self.slots[self.counted].is_complete:
            result = self.slots[self.counted].result
            for pair in result.result.pairs if result is not None else ():
                self.scores.append(pair.score)
                if self.gate.decision.passed is None:
                    self.gate.add(pair.score)
            self.counted += 1

    def is_forced(self) -> bool:
        """Whether the manifest releases this candidate whatever its pairs say ("release anyway each N steps")."""
        every = self.manifest.gate.release_every_steps
        return not self.is_refused_unplayed and 0 < every <= self.train.steps - self.base.steps

    def is_decision(self, logged: GateDecision) -> bool:
        """Whether a logged decision is what rounding and the counted pairs give."""
        if self.is_refused_unplayed:
            return logged == REFUSED
        return is_recount(logged, self.scores, self.manifest.gate)
