"""Random changes of a run's public files, each of which an audit has to see: bytes, lengths, names, absences."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from protocol.checkpoint import Checkpoint, SignedNote
from protocol.layout import CHECKPOINT
from protocol.tiles import tiles_between
from tests.verification.memory_reader import MemoryReader
from verification.audit.audit import AuditOptions, AuditReport, audit

Files = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to which files (any of `paths` may be named), and the files after it."""

    kind: str
    paths: tuple[str, ...]
    text: str
    files: Files

    def is_named(self, report: AuditReport) -> bool:
        """Whether the audit says no, and names a changed file: the checkpoint also where its size leads to no tile."""
        told = " ".join(check.detail for check in report.checks if check.ok is False)
        names = [f"the {path} is of" if path == CHECKPOINT else f"File {path}" for path in self.paths]
        return not report.ok and any(name in told for name in (*names, *(f"File {path}" for path in self.paths)))


def audited(files: Files) -> AuditReport:
    """An audit of every byte that replays nothing."""
    return audit(MemoryReader(files), AuditOptions(sample=0))


def kind_of(path: str) -> str:
    """The kind of a file: its folder, with the level of a tile."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "tile" else parts[0]


def change(files: Files, rng: Random) -> Change:
    """A change of one file of a kind chosen first, so that the few small files are met as often as the many blobs."""
    path = _any(files, rng)
    return rng.choices([flip, cut, grow, drop, swap, move], [12, 2, 1, 2, 2, 1])[0](files, path, rng)


def flip(files: Files, path: str, rng: Random) -> Change:
    """One byte is another one."""
    data = files[path]
    if not data:
        return grow(files, path, rng)
    at, other = rng.randrange(len(data)), rng.randrange(1, 256)
    changed = data[:at] + bytes([data[at] ^ other]) + data[at + 1 :]
    return Change("flip", (path,), f"byte {at} of {len(data)} of {path}, by {other:#04x}", {**files, path: changed})


def cut(files: Files, path: str, rng: Random) -> Change:
    """The end is missing."""
    data = files[path]
    if not data:
        return grow(files, path, rng)
    length = rng.randrange(len(data))
    return Change("cut", (path,), f"{path}, to {length} of {len(data)} bytes", {**files, path: data[:length]})


def grow(files: Files, path: str, rng: Random) -> Change:
    """A byte more."""
    return Change("grow", (path,), path, {**files, path: files[path] + rng.randbytes(1)})


def drop(files: Files, path: str, rng: Random) -> Change:
    """The file is missing."""
    return Change("drop", (path,), path, {name: data for name, data in files.items() if name != path})


def swap(files: Files, path: str, rng: Random) -> Change:
    """Two files have each other's content."""
    other = _any({name: data for name, data in files.items() if data != files[path]}, rng)
    return Change("swap", (path, other), f"{path} and {other}", {**files, path: files[other], other: files[path]})


def move(files: Files, path: str, rng: Random) -> Change:
    """The file is there twice, the second time under another name."""
    at = rng.randrange(len(path))
    name = path[:at] + rng.choice("0123456789abcdefxyz./-") + path[at + 1 :]
    if name in files:
        return flip(files, path, rng)
    return Change("move", (name,), f"{path} as {name}", {**files, name: files[path]})


def may_be_absent(files: Files, path: str) -> str | None:
    """Why an audit need not miss this file, or None: then it has to."""
    if path.startswith("blob/"):
        return "a blob that the audited release does not need: counted as absent, and asked for where it is needed"
    if path.startswith("tile/"):
        size = Checkpoint.parse(SignedNote.parse(files[CHECKPOINT]).text).size
        if path not in {tile.path for tile in tiles_between(0, size)}:
            return "a tile of an earlier size, which the present one supersedes"
    return None


def absent_count(report: AuditReport) -> int:
    """How many named blobs the audit says are not there."""
    detail = next(check.detail for check in report.checks if check.name == "files")
    mark = "Named blobs that are not here: "
    return int(detail.partition(mark)[2].partition(".")[0]) if mark in detail else 0


def try_changes(files: Files, count: int, seed: int, is_over: Callable[[], bool] = lambda: False) -> dict[str, int]:
    """Audits `files` after each of `count` random changes, or fewer when it `is_over`; how often each kind of change, and of
    file, was met.

    AssertionError for a change that is not named. A missing file that an audit need not miss is `absent`.
    """
    rng = Random(seed)
    before = absent_count(audited(files))
    seen: dict[str, int] = {}
    for number in range(count):
        if is_over():
            break
        made = change(files, rng)
        report = audited(made.files)
        outcome = made.kind
        if report.ok and made.kind == "drop":
            (path,) = made.paths
            assert may_be_absent(files, path), f"change {number} of seed {seed}: {path} is missing, and nobody noticed"
            assert absent_count(report) == before + path.startswith("blob/")
            outcome = "absent"
        else:
            told = [check.detail for check in report.checks if check.ok is False]
            assert made.is_named(report), f"change {number} of seed {seed}, {made.kind} {made.text}: {told or 'ok'}"
        kinds = {kind_of(path) for path in made.paths if path in files}
        for name in (outcome, *kinds):
            seen[name] = seen.get(name, 0) + 1
    return seen


def _any(files: Files, rng: Random) -> str:
    kind = rng.choice(sorted({kind_of(path) for path in files}))
    return rng.choice(sorted(path for path in files if kind_of(path) == kind))
