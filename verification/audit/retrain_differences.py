"""In what repeated training is other than the record says: on the same machine, and on any.

Spec: `docs/spec/audit.md` ("Retrain").
"""

from protocol.words import counted
from verification.audit.folder import AuditFault
from verification.audit.repetition import Repeated, Task


def differences(task: Task, found: Repeated) -> list[str]:
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


def verify_unmoved(task: Task, found: Repeated, entry: str) -> None:
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
