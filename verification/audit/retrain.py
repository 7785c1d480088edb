"""Audit, the part `retrain`: training repeated from one logged train state to the next, or a whole cycle, and compared.

Spec: `docs/spec/audit.md` ("Retrain"). Invariant: what the same torch build on the same kind of machine gives has to be what
the log says, byte for byte; of any other machine only how far it came is told, and that the record stays a claim.
"""

from random import Random

from protocol.layout import blob_path
from verification.audit.folder import AuditFault, Check, Folder
from verification.audit.repetition import Repeat, Task, Unrepeatable
from verification.audit.retrain_differences import differences, verify_unmoved
from verification.audit.retrain_text import (
    describe_distance,
    describe_machines,
    describe_repeated,
    name_compared,
    name_task,
)
from verification.faults import LogFault
from verification.releases import ReleaseInfo
from verification.state import LogState
from verification.training import CyclePlan, Segment, plan_of, verify_counts

NAME = "retrain"


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
    what = name_task(task)
    found = repeat(task)
    if (found.batches, found.skipped) != (plan.record.batches, plan.record.skipped):
        raise AuditFault(
            f"{entry.capitalize()} says that {plan.record.skipped} of the window's batches could not be read; here "
            f"{found.skipped} cannot."
        )
    wrong = differences(task, found)
    apart = describe_machines(task.machine, found.machine)
    if not wrong:
        by = "" if not apart else f", though with another machine ({apart})"
        return f"{what} repeated bit for bit{by}: {name_compared(task)} as {entry} says."
    if not apart:
        raise AuditFault(
            f"{what}, repeated with the same torch build on the same kind of machine, came out otherwise than {entry} "
            f"says: {', '.join(wrong)}.{describe_distance(found.distance)}"
        )
    if found.wrong:
        raise AuditFault(f"{what} repeated: {found.wrong}")
    verify_unmoved(task, found, entry)
    return f"Claimed, not verified: {what} repeated with another machine ({apart}). {describe_repeated(task, found)}"


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
