"""Repeated training in words: what was repeated, on which machine, and how far what came out is from what is logged."""

from protocol.window import LossReport, RoundingReport, TrainRecord
from verification.audit.repetition import Distance, Machine, Repeated, Task


def name_task(task: Task) -> str:
    """What was repeated, as the beginning of a sentence."""
    cycle = f"Cycle {task.plan.record.cycle}"
    if task.segment is None:
        return f"{cycle}, whole,"
    return f"{cycle}, steps {task.segment.start} to {task.segment.end} of {task.plan.steps},"


def name_compared(task: Task) -> str:
    """What came out and is compared, as the subject of a sentence and, of a whole cycle, its verb."""
    if task.segment is not None:
        return f"train state {task.segment.state.hex()[:16]} after step {task.plan.parent_step + task.segment.end},"
    return f"{len(task.plan.record.states)} train states, weights, network, losses and rounding are"


def describe_machines(there: Machine, here: Machine) -> str:
    """How the machine here is another than the record's; empty if it is not."""
    told = []
    if here.torch != there.torch:
        told.append(f"torch {here.torch} here, {there.torch} in the record")
    if here.device != there.device:
        told.append(f"{here.device} here, {there.device} in the record")
    elif here.capability != there.capability:
        told.append("another processor or other instruction sets")
    return ", ".join(told)


def describe_repeated(task: Task, found: Repeated) -> str:
    """How far it came from what is logged."""
    apart = describe_distance(found.distance) or " The logged train state is not here to compare with."
    told = [apart[1:-1]]
    if found.record is not None:
        here, there = found.record, task.plan.record
        told.append(f"losses by at most {_share(_losses(here), _losses(there))}")
        told.append(f"what rounding cost by at most {_share(_rounding(here.rounding), _rounding(there.rounding))}")
    return ", ".join(told) + "."


def describe_distance(distance: Distance | None) -> str:
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
