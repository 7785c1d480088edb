"""How far an audit is: a bar on a terminal, else a line each ten seconds; on standard error alone.

Spec: `docs/commands.md` ("gonode audit"). What is quick is not shown.
"""

import sys
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from verification.audit.audit import Progress

EVERY_S = 10.0
SOON_S = 0.5
"""A step is shown once it takes so long."""

AGAIN_S = 0.1


class AuditScreen(Protocol):
    """Where an audit's progress goes."""

    def hear(self, progress: "Progress") -> None:
        """Shows how far a check is; called very often."""
        ...

    def clear(self) -> None:
        """Takes what is shown away, for something is printed now."""
        ...


class Lines:
    """A line each ten seconds."""

    def __init__(self) -> None:
        self._last_s = time.monotonic()

    def hear(self, progress: "Progress") -> None:
        """See `AuditScreen.hear`."""
        now = time.monotonic()
        if now - self._last_s >= EVERY_S:
            self._last_s = now
            print(f"{time.strftime('%H:%M:%S')} {words(progress)}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """See `AuditScreen.clear`."""


class Bar:
    """A bar for the step that runs, which goes when the step ends."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None
        self._step: tuple[str, str] | None = None
        self._begun_s = 0.0
        self._last_s = 0.0

    def hear(self, progress: "Progress") -> None:
        """See `AuditScreen.hear`."""
        now, step = time.monotonic(), (progress.check, progress.kind)
        if step != self._step:
            self.clear()
            self._step, self._begun_s = step, now
        if now - self._begun_s < SOON_S or now - self._last_s < AGAIN_S:
            return
        self._last_s = now
        bar = self._shown()
        bar.update(bar.task_ids[0], completed=progress.done, total=progress.total, text=words(progress))

    def clear(self) -> None:
        """See `AuditScreen.clear`."""
        self._step = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _shown(self) -> "RichProgress":
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bar is None:
            columns = (TextColumn("{task.fields[text]}", markup=False), BarColumn(20), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), redirect_stdout=False, transient=True)
            self._bar.add_task("audit", text="")
            self._bar.start()
        return self._bar


def words(progress: "Progress") -> str:
    """A progress in words."""
    return f"{progress.check}: {progress.done:,} of {progress.total:,} {progress.kind}"
