"""What an audit of a run's public folder costs: `python -m benchmarks.audit [--quick] [--json] [--dir DIR]`.

A run of 10,000 batches (`--quick`: 300) of real 7x7 games, most of them in its release's window, is audited without replays:
every signature verified anew, every byte hashed, every game checked by the rules. With `--dir` the newest release of the run
there is audited too, with the replays of `gonode audit`.
"""

import time
from pathlib import Path

from benchmarks._run import Row, arguments, show_all
from benchmarks._world import run_with
from native.network import Kernel
from node.audits.folder_audit import audit_home
from node.disk.home import Home
from protocol.envelope import forget_verified
from tests.verification.memory_reader import MemoryReader
from verification.audit.audit import AuditOptions, AuditReport, Check, audit

BATCHES, QUICK_BATCHES, GAMES = 10_000, 300, 4
WINDOW = 40
"""Rows a game that the first window takes: of the 45 or so that a game has."""


class Clock:
    """Rows of an audit's checks with the seconds of each."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._begun_s = self._last_s = time.perf_counter()

    def answered(self, check: Check) -> None:
        """Takes a check that is answered now."""
        now = time.perf_counter()
        self.rows.append({"check": check.name, "seconds": now - self._last_s, "ok": str(check.ok)})
        self._last_s = now

    def end(self, report: AuditReport) -> list[Row]:
        """The rows with their sum; SystemExit for a run that is not in order."""
        if not report.ok:
            raise SystemExit("The audit of an honest run failed.")
        seconds = time.perf_counter() - self._begun_s
        return [*self.rows, {"check": "all", "seconds": seconds, "ok": str(report.ok)}]


def bytes_only(batches: int) -> tuple[str, list[Row]]:
    """A generated run, audited by a process that has verified none of its signatures."""
    world = run_with(batches, GAMES, WINDOW)
    files = world.public()
    window = len(world.state.windows[-1].window.batches)
    title = (
        f"without replays: {len(world.entries):,} entries, {batches:,} batches, {window:,} in the window, "
        f"{sum(map(len, files.values())) / 1e6:,.0f} MB"
    )
    forget_verified()
    clock = Clock()
    return title, clock.end(audit(MemoryReader(files), AuditOptions(sample=0), clock.answered))


def sampled(directory: Path, kernel: Kernel) -> tuple[str, list[Row]]:
    """A run on this disk, as `gonode audit` audits it."""
    clock = Clock()
    report = audit_home(Home(directory), AuditOptions(kernel=kernel), clock.answered)
    return f"with replays: {report.release}", clock.end(report)


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__, directory="a run's directory to audit as well, such as demo/coordinator")
    tables = dict([bytes_only(QUICK_BATCHES if given.quick else BATCHES)])
    if given.dir is not None:
        tables |= dict([sampled(given.dir, given.kernel)])
    show_all(tables, given.json)


if __name__ == "__main__":
    main()
