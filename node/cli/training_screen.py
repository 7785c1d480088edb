"""How a training that one waits for is shown: a bar on a terminal, else a line each ten seconds; standard error alone.

Spec of what is shown: docs/spec/train-state.md ("Events").
"""

import sys
import time
from typing import TYPE_CHECKING, Protocol

from node.training.events import Event, Exporting, Note, Progress, Skipped
from node.training.words import clock

if TYPE_CHECKING:
    from rich import progress

EVERY_S = 10.0


class Screen(Protocol):
    """Where progress goes."""

    def say(self, text: str) -> None:
        """One line that stays."""
        ...

    def hear(self, event: Event) -> None:
        """An event of the trainer."""
        ...

    def close(self) -> None:
        """Nothing more comes but lines that stay."""
        ...


class Lines:
    """A line each ten seconds."""

    def __init__(self) -> None:
        self._last = -EVERY_S

    def say(self, text: str) -> None:
        """See `Screen.say`."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def hear(self, event: Event) -> None:
        """See `Screen.hear`."""
        if isinstance(event, Progress):
            now = time.monotonic()
            if now - self._last >= EVERY_S or event.step == event.steps:
                self._last = now
                self.say(f"step {event.step} of {event.steps}  {numbers(event)}")
        elif (text := sentence(event)) is not None:
            self.say(text)

    def close(self) -> None:
        """See `Screen.close`."""


class Bar:
    """A bar that is renewed, on a terminal."""

    def __init__(self) -> None:
        self._bar: progress.Progress | None = None

    def say(self, text: str) -> None:
        """See `Screen.say`."""
        line = f"{time.strftime('%H:%M:%S')} {text}"
        if self._bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def hear(self, event: Event) -> None:
        """See `Screen.hear`."""
        if isinstance(event, Progress):
            bar = self._begun(event.steps)
            bar.update(bar.task_ids[0], completed=event.step, numbers=brief(event))
        elif (text := sentence(event)) is not None:
            self.say(text)

    def close(self) -> None:
        """See `Screen.close`."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _begun(self, steps: int) -> "progress.Progress":
        from rich import progress
        from rich.console import Console

        if self._bar is None:
            columns = (
                progress.BarColumn(20),
                progress.MofNCompleteColumn(),
                progress.TextColumn("{task.fields[numbers]}", markup=False),
            )
            self._bar = progress.Progress(*columns, console=Console(stderr=True), redirect_stdout=False)
            self._bar.add_task("training", total=steps, numbers="")
            self._bar.start()
        return self._bar


def numbers(event: Progress) -> str:
    """What a progress event says besides its step."""
    losses = f"loss {event.loss:.3f}, policy {event.policy_loss:.3f}, value {event.value_loss:.3f}"
    waited = f"waited {100 * event.waiting_share:.0f} %"
    return f"{losses}  {event.samples_per_s:,} samples/s  {waited}  {clock(event.seconds_left)} left"


def brief(event: Progress) -> str:
    """The same where a bar needs room."""
    return f"loss {event.loss:.3f}  {event.samples_per_s:,} samples/s  {clock(event.seconds_left)} left"


def sentence(event: Event) -> str | None:
    """The line that an event other than progress deserves."""
    match event:
        case Skipped():
            return str(event)
        case Note(text):
            return text
        case Exporting():
            return "Rounding to the integer network."
    return None
