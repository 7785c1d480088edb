"""How far a training cycle is, for people: what its trainer said last, and now and then an event of it.

Spec: docs/spec/train-state.md ("Events"). Times are the trainer's own; nothing here reaches the log.
"""

from typing import Any

import trio

from node.coordinator.training_words import training_words
from node.events import Events

TOLD_EVERY_S = 60


class TrainingProgress:
    """Hears a trainer's events; `now` is its last word on the cycle, empty before the first."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._notes: set[str] = set()
        self._told_at = float("-inf")
        self.now: dict[str, Any] = {}

    def begin(self) -> None:
        """Another cycle is to be trained."""
        self.now, self._told_at = {}, float("-inf")

    async def hear(self, event: dict[str, Any]) -> None:
        """Takes one event; `trainer_process.Report`."""
        match event.get("event"):
            case "progress":
                self.now = event
                self._tell()
            case "skipped":
                self._events("skipped", f"Batch {event.get('batch')} was skipped: {event.get('why')}")
            case "note":
                self._note(str(event.get("text", "")))

    def _tell(self) -> None:
        now = trio.current_time()
        if now < self._told_at + TOLD_EVERY_S:
            return
        self._told_at = now
        self._events(
            "training", f"Training: {training_words(self.now)}.", step=self.now["step"], steps=self.now["steps"]
        )

    def _note(self, text: str) -> None:
        """What every cycle says is said once."""
        if text not in self._notes:
            self._notes.add(text)
            self._events("note", text)
