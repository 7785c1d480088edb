"""Says why something waits: at once, and again now and then while that goes on, not at every try.

Spec: `docs/commands.md` ("What a node prints").
"""

from typing import Final

import trio

from node.events import Events

AGAIN_S: Final = 300.0


class Reminder:
    """Of one thing that is tried again and again."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._said_s: float | None = None

    def say(self, text: str, next_try_in_s: float) -> None:
        """Reports that it failed once more, with the next try."""
        now = trio.current_time()
        if self._said_s is None or now - self._said_s >= AGAIN_S:
            self._said_s = now
            self._events("waiting", f"{text} Next try in {max(1, next_try_in_s):.0f} s.")

    def forget(self) -> None:
        """It worked: the next failure is said at once."""
        self._said_s = None
