"""What a running node tells its user: one object a line with `--json`, else one plain UTC line an event.

Nothing here is read back by the program. An event has a short name, one sentence, and fields for machines.
"""

import json
import sys
import time
from typing import Protocol, TextIO

Field = str | int | float | bool | None


class Events(Protocol):
    """Where roles report; every call is one event."""

    def __call__(self, event: str, text: str, **values: Field) -> None:
        """Reports `event` with a sentence for people and values for machines."""
        ...


class EventPrinter:
    """Prints events to a stream."""

    def __init__(self, role: str, as_json: bool, stream: TextIO | None = None) -> None:
        self._role = role
        self._as_json = as_json
        self._stream = stream or sys.stdout

    def __call__(self, event: str, text: str, **values: Field) -> None:
        """See `Events`."""
        now = time.time()
        if self._as_json:
            line = json.dumps({"event": event, "role": self._role, "unix_s": round(now, 3), "text": text, **values})
        else:
            line = f"{time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(now))} {self._role:<11} {text}"
        print(line, file=self._stream, flush=True)


def silent(event: str, text: str, **values: Field) -> None:
    """Events that nobody reads."""
