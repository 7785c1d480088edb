"""Audit, the part `retrain`: training repeated from one logged train state to the next, or a whole cycle, and compared.

Spec: `docs/spec/audit.md` ("Retrain"), `docs/spec/training.md` ("Repeating"). Who trains is given as a callable: nothing
here imports torch. Invariant: what the same torch build on the same kind of machine gives has to be what the log says, byte
for byte; of any other machine only how far it came is told, and that the record stays a claim.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol, Self

from protocol.layout import blob_path
from protocol.window import LossReport, RoundingReport, TrainRecord
from protocol.words import counted
from verification.audit.folder import AuditFault, Check, Folder
from verification.faults import LogFault
from verification.releases import ReleaseInfo
from verification.state import LogState
from verification.training import CyclePlan, Segment, plan_of, verify_counts

NAME = "retrain"


class Unrepeatable(Exception):
    """One sentence about why training could not be repeated here, which says nothing about the record."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides the last bits besides the job."""

    torch: str
    device: str
    capability: str

    @classmethod
    def of(cls, record: TrainRecord) -> Self:
        """The one that a record names."""
        return cls(record.torch, record.device, record.capability)


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the repeated state's weights are from the logged one's: the largest and the root mean square difference, as
    shares of the weights' own root mean square. `policy_divergence`: of the exported networks, in nats, if both are there.
    """

    largest: float
    rms: float
    policy_divergence: float | None


@dataclass(frozen=True, slots=True)
class Task:
    """What to repeat: a segment of a cycle, or (None) the whole with its export. `machine`: as the record names it.

    `blob` gives a blob's bytes, checked (AuditFault for wrong ones), or None; `step` hears how many steps are done of how
    many.
    """

    plan: CyclePlan
    segment: Segment | None
    blob: Callable[[bytes], bytes | None]
    step: Callable[[int, int], None]

    @property
    def machine(self) -> Machine:
        """What the record was made with."""
        return Machine.of(self.plan.record)


@dataclass(frozen=True, slots=True)
class Repeated:
    """What came out: the blob digest of the last state, how many batches were read and left out, and of a whole cycle the
    record it gives. `distance`: where the state is another than the logged one, and that is at hand; `wrong`: why the two
    cannot be compared."""

    machine: Machine
    state: bytes
    batches: int
    skipped: int
    record: TrainRecord | None
    distance: Distance | None
    wrong: str = ""


class Repeat(Protocol):
    """Trains what a task says, in a folder of its own."""

    def __call__(self, task: Task) -> Repeated:
        """Raises Unrepeatable where it cannot, AuditFault where what is logged cannot be trained."""
        ...


def audit_retrain(
    folder: Folder, state: LogState, release: ReleaseInfo, repeat: Repeat, rng: Random, *, is_whole: bool
) -> Check:
    """Repeats a segment that `rng` chooses of the release's training, or the whole cycle, and answers."""
    try:
        return Check(NAME, True, _retrain(folder, state, release, repeat, rng, is_whole))
    except AuditFault as fault:
        return Check(NAME, False, str(fault))
    except Unrepeatable as why:
        return Check(NAME, None, f"Not checked: {why}")


def _retrain(folder: Folder, state: LogState, release: ReleaseInfo, repeat: Repeat, rng: Random, is_whole: bool) -> str:
    if release.number == 0:
        return "Release 0 is not trained."
    plan = plan_of(state, release.train_record)
    if plan is None:
        raise AuditFault(f"Release {release.name} names no training.")
    entry = f"the train record at entry {plan.training.index}"
    try:
        verify_counts(plan)
    except LogFault as fault:
        raise AuditFault(f"{entry.capitalize()} is not what the log gives: {fault.reason}") from fault
    segment = _segment(folder, plan, rng) if not is_whole else None
    if segment is None:
        _require_parent(folder, plan)
    task = Task(plan, segment, lambda digest: _blob(folder, digest), lambda done, of: folder.step("steps", done, of))
    what = _named(task)
    found = repeat(task)
    if (found.batches, found.skipped) != (plan.record.batches, plan.record.skipped):
        raise AuditFault(
            f"{entry.capitalize()} says that {plan.record.skipped} of the window's batches could not be read; here "
            f"{found.skipped} cannot."
        )
    wrong = _differences(task, found)
    apart = _apart(task.machine, found.machine)
    if not wrong:
        by = "" if not apart else f", though with another machine ({apart})"
        return f"{what} repeated bit for bit{by}: {_compared(task)} as {entry} says."
    if not apart:
        raise AuditFault(
            f"{what}, repeated with the same torch build on the same kind of machine, came out otherwise than {entry} "
            f"says: {', '.join(wrong)}.{_how_far(found.distance)}"
        )
    if found.wrong:
        raise AuditFault(f"{what} repeated: {found.wrong}")
    _verify_unmoved(task, found, entry)
    return f"Claimed, not verified: {what} repeated with another machine ({apart}). {_far(task, found)}"


def _segment(folder: Folder, plan: CyclePlan, rng: Random) -> Segment:
    """One segment whose beginning is here; Unrepeatable without any."""
    segments = plan.segments()
    for segment in rng.sample(segments, len(segments)):
        if segment.parent is None or folder.find(blob_path(segment.parent)) is not None:
            return segment
    raise Unrepeatable(_needed(plan, [each.parent for each in segments if each.parent is not None]))


def _require_parent(folder: Folder, plan: CyclePlan) -> None:
    """Unrepeatable without the state that the whole cycle goes on from."""
    if plan.parent is not None and folder.find(blob_path(plan.parent)) is None:
        raise Unrepeatable(_needed(plan, [plan.parent]))


def _needed(plan: CyclePlan, states: list[bytes]) -> str:
    one_of = "one of the train states" if len(states) > 1 else "the train state"
    return (
        f"cycle {plan.record.cycle} can be repeated from {one_of} {', '.join(each.hex()[:16] for each in states[:3])}, "
        "and none is here; a coordinator keeps those of the cycles since its third-newest release."
    )


def _blob(folder: Folder, digest: bytes) -> bytes | None:
    if folder.find(blob_path(digest)) is None:
        return None
    return folder.blob(digest, "which training is repeated with")


def _named(task: Task) -> str:
    cycle = f"Cycle {task.plan.record.cycle}"
    if task.segment is None:
        return f"{cycle}, whole,"
    return f"{cycle}, steps {task.segment.start} to {task.segment.end} of {task.plan.steps},"


def _compared(task: Task) -> str:
    if task.segment is not None:
        return f"train state {task.segment.state.hex()[:16]} after step {task.plan.parent_step + task.segment.end},"
    return f"{len(task.plan.record.states)} train states, weights, network, losses and rounding are"


def _differences(task: Task, found: Repeated) -> list[str]:
    """What came out otherwise, by name."""
    record = task.plan.record
    if found.record is None:
        assert task.segment is not None
        step = task.plan.parent_step + task.segment.end
        return [] if found.state == task.segment.state else [f"the train state after step {step}"]
    again = found.record
    pairs = zip(again.states, record.states, strict=True)  # as many as `verify_counts` wants of both
    steps = [there.step for here, there in pairs if here != there]
    wrong = []
    if steps:
        later = f" and {counted(len(steps) - 1, 'later one')}" if len(steps) > 1 else ""
        wrong.append(f"the train state after step {steps[0]}{later}")
    named = {
        "the network": ("network", "network_blob", "network_len", "shape"),
        "the weights": ("weights_blob",),
        "what rounding cost": ("rounding",),
        "the losses": ("losses",),
        "the losses on held-out rows": ("held_out",),
        "steps or samples": ("steps", "samples"),
    }
    for name, fields in named.items():
        if any(getattr(again, field) != getattr(record, field) for field in fields):
            wrong.append(name)
    return wrong


def _verify_unmoved(task: Task, found: Repeated, entry: str) -> None:
    """AuditFault where something differs that no machine changes."""
    if found.record is None:
        return
    numbers = [
        (
            each.shape,
            each.network_len,
            each.steps,
            each.samples,
            each.rounding.rows,
            each.losses.rows,
            each.held_out.rows,
        )
        for each in (found.record, task.plan.record)
    ]
    if numbers[0] != numbers[1]:
        raise AuditFault(f"{entry.capitalize()} counts other rows or steps than its cycle has on any machine.")


def _apart(there: Machine, here: Machine) -> str:
    """How the machine here is another than the record's; empty if it is not."""
    told = []
    if here.torch != there.torch:
        told.append(f"torch {here.torch} here, {there.torch} in the record")
    if here.device != there.device:
        told.append(f"{here.device} here, {there.device} in the record")
    elif here.capability != there.capability:
        told.append("another processor or other instruction sets")
    return ", ".join(told)


def _far(task: Task, found: Repeated) -> str:
    """How far it came from what is logged."""
    apart = _how_far(found.distance) or " The logged train state is not here to compare with."
    told = [apart[1:-1]]
    if found.record is not None:
        here, there = found.record, task.plan.record
        told.append(f"losses by at most {_share(_losses(here), _losses(there))}")
        told.append(f"what rounding cost by at most {_share(_rounding(here.rounding), _rounding(there.rounding))}")
    return ", ".join(told) + "."


def _how_far(distance: Distance | None) -> str:
    """A sentence about two trainings, with a space before it; empty without a distance."""
    if distance is None:
        return ""
    policy = distance.policy_divergence
    nats = "" if policy is None else f", the network's policy by {policy:.6f} nats"
    mean, most = f"{distance.rms:.1e} of their size (root mean square)", f"{distance.largest:.1e} at most"
    return f" Weights differ by {mean}, by {most}{nats}."


def _losses(record: TrainRecord) -> list[int]:
    return [value for report in (record.losses, record.held_out) for value in _micro(report)]


def _micro(report: LossReport) -> list[int]:
    return [
        report.policy_micro,
        report.opponent_policy_micro,
        report.value_micro,
        report.score_micro,
        report.ownership_micro,
    ]


def _rounding(report: RoundingReport) -> list[int]:
    return [report.policy_divergence_micro, report.value_error_micro, report.same_move_ppm]


def _share(here: list[int], there: list[int]) -> str:
    """The largest difference of two lists of numbers, as a share of the logged one."""
    return f"{100 * max(abs(a - b) / max(b, 1) for a, b in zip(here, there, strict=True)):.1f} %"
