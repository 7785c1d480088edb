"""What the log fixes of a trained cycle, and which train states are kept: `plan_of`, `verify_counts`, `kept_states`.

Spec: `docs/spec/training.md` ("Repeating"). A cycle's job follows from the log alone: window, seed, parent state, samples,
the steps at which states are recorded. So whoever has the batches and a state repeats what came after it.
"""

from dataclasses import dataclass

from protocol.manifest import Manifest, TrainingPolicy
from protocol.types import ZERO
from protocol.window import TrainRecord
from verification.cycles import Cycles, TrainingInfo, WindowInfo
from verification.faults import LogFault
from verification.state import LogState

STATE_EVERY_STEPS = 1000
"""Steps of a cycle between its recorded train states; the last is after its last step."""
NEW_NETWORK_CYCLES = 10
"""A network that begins anew may take as many samples at once as so many cycles."""
KEPT_RELEASES = 3
"""Train states are kept of the cycles since the oldest of so many releases."""
_HEADER_BYTES = 1 << 20
_STATE_BYTES_A_WEIGHT = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """Steps `start` to `end` of a cycle, between two recorded states: blob digests. `parent` None: the seeded network."""

    start: int
    end: int
    parent: bytes | None
    state: bytes


@dataclass(frozen=True, slots=True)
class CyclePlan:
    """A cycle as the log has it. `samples` were asked for, `parent_step` steps of the run were before it."""

    window: WindowInfo
    training: TrainingInfo
    parent_step: int
    parent_samples: int
    samples: int

    @property
    def record(self) -> TrainRecord:
        """What was logged of it."""
        return self.training.record

    @property
    def manifest(self) -> Manifest:
        """What it follows."""
        return self.window.manifest

    @property
    def parent(self) -> bytes | None:
        """The blob digest of the state that it went on from; None where it began with the seeded network."""
        return None if self.record.parent_state == ZERO else self.record.parent_state

    @property
    def steps(self) -> int:
        """Its optimiser steps, as samples and minibatch give them."""
        return max(1, self.samples // self.manifest.training.minibatch)

    @property
    def marks(self) -> tuple[int, ...]:
        """The steps of the cycle after which a state is recorded."""
        return (*range(STATE_EVERY_STEPS, self.steps, STATE_EVERY_STEPS), self.steps)

    def segments(self) -> tuple[Segment, ...]:
        """What lies between the recorded states, once `verify_counts` passed."""
        digests = [self.parent, *(point.state for point in self.record.states)]
        marks = (0, *self.marks)
        return tuple(
            Segment(marks[k], marks[k + 1], digests[k], point.state) for k, point in enumerate(self.record.states)
        )


def samples_of(rows: int, policy: TrainingPolicy, *, is_new: bool) -> int:
    """So many for each of the rows, at most a cycle's, or those of ten cycles where a network begins anew; at least 1."""
    most = policy.samples_per_cycle * (NEW_NETWORK_CYCLES if is_new else 1)
    return max(1, min(most, rows * policy.samples_per_row_milli // 1000))


def cycle_samples(cycles: Cycles, window: WindowInfo, last: TrainRecord | None, *, is_grown: bool) -> int:
    """What a cycle asks for: samples of the rows that no cycle trained on; a grown network has the whole window as new.

    `last` is the train record before it.
    """
    before = None if last is None else cycles.window_at(last.window)
    earlier = 0 if before is None else before.record.total_rows
    rows = window.record.rows if is_grown else window.record.total_rows - earlier
    return samples_of(rows, window.manifest.training, is_new=is_grown)


def plan_of(state: LogState, index: int) -> CyclePlan | None:
    """The cycle whose train record is logged at `index`; None if there is none."""
    training = state.cycles.training_at(index)
    window = None if training is None else state.cycles.window_at(training.record.window)
    if training is None or window is None:
        return None
    place = state.trainings.index(training)
    last = state.trainings[place - 1].record if place else None
    is_grown = last is not None and training.record.parent_state == ZERO
    samples = cycle_samples(state.cycles, window, last, is_grown=is_grown)
    steps, before = (0, 0) if last is None else (last.steps, last.samples)
    return CyclePlan(window, training, steps, before, samples)


def verify_counts(plan: CyclePlan) -> None:
    """Raises LogFault where a record's steps, samples or states are not those that the log gives its cycle."""
    record = plan.record
    steps, samples = record.steps - plan.parent_step, record.samples - plan.parent_samples
    due = plan.steps * plan.manifest.training.minibatch
    if (steps, samples) != (plan.steps, due):
        raise LogFault(f"It has {steps} steps with {samples} samples; the log gives it {plan.steps} with {due}.")
    marks = [point.step - plan.parent_step for point in record.states]
    if marks != list(plan.marks):
        raise LogFault(f"Its train states are after steps {_named(marks)}; they have to be after {_named(plan.marks)}.")
    if record.states[-1].state != record.state:
        raise LogFault("Its last train state is not the one that it says training goes on from.")


def kept_states(state: LogState) -> dict[bytes, int]:
    """The train states that whoever repeats training may ask for, by blob digest, each with the most bytes it has.

    Those of the cycles since the third-newest release, and what the first of them went on from.
    """
    newest = state.releases.all[-KEPT_RELEASES:]
    first = newest[0].train_record if newest[0].number else 0
    kept: dict[bytes, int] = {}
    for training in state.trainings:
        if training.index >= first:
            record = training.record
            for digest in (record.parent_state, *(point.state for point in record.states), record.state):
                kept[digest] = _STATE_BYTES_A_WEIGHT * record.network_len + _HEADER_BYTES
    kept.pop(ZERO, None)
    return kept


def named_states(state: LogState) -> set[bytes]:
    """All train states that the log names, by blob digest."""
    named: set[bytes] = set()
    for training in state.trainings:
        named |= {training.record.state, *(point.state for point in training.record.states)}
    return named


def _named(marks: tuple[int, ...] | list[int]) -> str:
    told = ", ".join(map(str, marks[:4]))
    return f"{told} and {len(marks) - 4} more" if len(marks) > 4 else told or "none"
