"""What a running node tells its user, event by event; for programs one JSON object a line.

Nothing here is read back by the program. An event has a short name, one sentence, and fields for machines. How people see
them: `node.screen`.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import trio

from node.status import Status

Field = str | int | float | bool | None


class Events(Protocol):
    """Where roles report; every call is one event."""

    def __call__(self, event: str, text: str, **values: Field) -> None:
        """Reports `event` with a sentence for people and values for machines."""
        ...


class JsonLines:
    """Prints each event as one JSON object on standard output."""

    def __init__(self, role: str) -> None:
        self._role = role

    def __call__(self, event: str, text: str, **values: Field) -> None:
        """See `Events`."""
        found = {"event": event, "role": self._role, "unix_s": round(time.time(), 3), "text": text, **values}
        print(json.dumps(found), flush=True)

    async def run(self, status: Callable[[], Status], commands: Mapping[str, Any]) -> None:
        """See `node.screen.screen.Screen`: events are all that is printed."""
        await trio.sleep_forever()


def silent(event: str, text: str, **values: Field) -> None:
    """Events that nobody reads."""
