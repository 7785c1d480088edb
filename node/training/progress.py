"""How far a training cycle is, for people: what its trainer said last, and now and then an event of it.

Spec: docs/spec/train-state.md ("Events"). Times are the trainer's own; nothing here reaches the log.
"""

import trio

from node.events import Events
from node.training.events import Event, Note, Progress, Skipped
from node.training.words import training_words

TOLD_EVERY_S = 60


class TrainingProgress:
    """Hears a trainer's events; `now` is its last word on the cycle, None before the first."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._notes: set[str] = set()
        self._told_at = float("-inf")
        self.now: Progress | None = None

    def begin(self) -> None:
        """Another cycle is to be trained."""
        self.now, self._told_at = None, float("-inf")

    async def hear(self, event: Event) -> None:
        """Takes one event; `trainer_process.Report`."""
        match event:
            case Progress():
                self.now = event
                self._tell(event)
            case Skipped():
                self._events("skipped", str(event))
            case Note(text):
                self._note(text)

    def _tell(self, progress: Progress) -> None:
        now = trio.current_time()
        if now < self._told_at + TOLD_EVERY_S:
            return
        self._told_at = now
        text = f"Training: {training_words(progress)}."
        self._events("training", text, step=progress.step, steps=progress.steps)

    def _note(self, text: str) -> None:
        """What every cycle says is said once."""
        if text not in self._notes:
            self._notes.add(text)
            self._events("note", text)
