"""Who may search now: one search an address at a time, and so many in all. `Searches`, `Busy`.

Page: docs/pages.md. Invariant: a place is given back by whoever took it, also where the search failed or nobody waits for it
any more. For many threads.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from node.machine.processor import usable_cores

CORES_A_SEARCH: Final = 4
"""Of so many cores one searches for visitors; the others are the node's."""


class Busy(Exception):
    """One sentence about a search that has to wait; `status` is 429 for who asks, 503 for the server."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Searches:
    """Places for `most` searches at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._askers: set[str] = set()

    @contextmanager
    def place(self, asker: str) -> Iterator[None]:
        """A place for an address while the block runs; raises Busy."""
        with self._lock:
            if asker in self._askers:
                raise Busy("A search for your address still runs; ask again when it has ended.", 429)
            if len(self._askers) >= self.most:
                raise Busy("Others are being played with; ask again in a second.", 503)
            self._askers.add(asker)
        try:
            yield
        finally:
            with self._lock:
                self._askers.remove(asker)


def searches_here() -> int:
    """How many searches this machine does for visitors at once."""
    return max(1, usable_cores() // CORES_A_SEARCH)
