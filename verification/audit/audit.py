"""The audit: answers, from a run's public folder alone, whether a release is what its run's rules make it.

Spec: `docs/spec/audit.md`. Seven questions and one about the files, each answered with a reason: head, files, release, gate,
window, games, retrain, chain. Every byte of the folder is checked; sampling concerns replays only. No I/O: the folder comes
in as a `Reader`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random, SystemRandom

from native.network import Kernel
from verification.audit.bans import audit_bans
from verification.audit.files import audit_files
from verification.audit.folder import AuditFault, Check, Folder, Progress, Reader, Tell
from verification.audit.games import Replaying, audit_gate, audit_window, replay_sample
from verification.audit.head import Head, audit_head
from verification.audit.rejections import audit_rejections
from verification.audit.release import audit_chain, audit_release, find_release
from verification.audit.repetition import Repeat
from verification.audit.replays import Memory, NoMemory
from verification.audit.retrain import audit_retrain
from verification.audit.ringers import audit_ringers
from verification.releases import ReleaseInfo

__all__ = ["AuditOptions", "AuditReport", "Check", "Progress", "Reader", "audit"]

CHECKS = ("head", "files", "release", "gate", "window", "games", "retrain", "chain")


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What to audit. `run`: the run id it has to be (None: the folder's). `release`: by name (None: the newest).

    `sample`: how many gate pairs and window games to replay, `full`: all of them. `seed` chooses among them; None: the
    system's random numbers, so that nobody knows beforehand what an audit replays. `known_heads`: (size, root hash) of
    every head seen before. `repeat`: trains again, when that is asked for: a segment, or with `full` the whole cycle.
    `is_working`: the folder is a node's own, where blobs come before the entries that name them.
    `is_listed`: all its files are seen, not only those that the log names. `memory`: replays that earlier audits did, which
    are not drawn again.
    """

    run: bytes | None = None
    release: str | None = None
    sample: int = 5
    full: bool = False
    repeat: Repeat | None = None
    kernel: Kernel = Kernel.BEST
    threads: int = 1
    seed: int | None = None
    known_heads: Sequence[tuple[int, bytes]] = ()
    is_working: bool = False
    is_listed: bool = True
    memory: Memory = field(default_factory=NoMemory)


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The answers; `ok` only when no check failed. `release` is the audited release's name, empty if none was found."""

    ok: bool
    release: str
    checks: tuple[Check, ...]


def audit(
    reader: Reader,
    options: AuditOptions | None = None,
    report: Callable[[Check], None] | None = None,
    tell: Tell | None = None,
    judged: Head | None = None,
) -> AuditReport:
    """Audits a public folder; `report` gets each check as soon as it is answered, `tell` hears how far it is meanwhile.

    `judged`: what `audit_head` found of the folder before, so that the same entries are not judged again.

    Never raises for what the folder holds.
    """
    options = options or AuditOptions()
    folder = Folder(reader, tell)
    rng = SystemRandom() if options.seed is None else Random(options.seed)
    checks: list[Check] = []

    def ask(name: str, question: Callable[[], str]) -> None:
        folder.check = name
        try:
            check = Check(name, True, question())
        except AuditFault as fault:
            check = Check(name, False, str(fault))
        answer(check)

    def answer(check: Check) -> None:
        checks.append(check)
        if report is not None:
            report(check)

    head = Head()

    def answer_head() -> str:
        found = audit_head(folder, head, options.run, options.known_heads, judged)
        if head.state is not None:
            found += audit_bans(folder, head.state, head.entries, options.kernel)
            found += audit_ringers(folder, head.state, options.kernel)
            found += audit_rejections(folder, head.state)
        return found

    ask("head", answer_head)
    if head.state is None:
        for name in CHECKS[1:]:
            answer(Check(name, None, "Not checked: the log cannot be read."))
        return AuditReport(False, "", tuple(checks))
    state, entries = head.state, head.entries
    ask("files", lambda: audit_files(folder, state, entries, options.is_working, options.is_listed))
    release: ReleaseInfo | None = None
    try:
        release = find_release(state, options.release)
    except AuditFault as fault:
        answer(Check("release", False, str(fault)))
    if release is not None:
        found = release
        count = None if options.full else options.sample
        replaying = Replaying(count, options.kernel, options.threads, rng, options.memory)
        ask("release", lambda: audit_release(folder, state, found))
        ask("gate", lambda: audit_gate(folder, state, found, replaying))
        ask("window", lambda: audit_window(folder, state, found))
        ask("games", lambda: replay_sample(folder, state, found, replaying))
        folder.check = "retrain"
        if options.repeat is None:
            answer(Check("retrain", None, "Not run: training is repeated only when asked for."))
        else:
            answer(audit_retrain(folder, state, found, options.repeat, rng, is_whole=options.full))
        ask("chain", lambda: audit_chain(folder, state, found))
    ok = all(check.ok is not False for check in checks)
    return AuditReport(ok, "" if release is None else release.name, tuple(checks))
