"""What went wrong while pages were answered, told of on the server's own terminal: `Faults`.

Page: docs/pages.md. Invariant: however often a fault comes, it is told of once, and then by how often it came again; of more
than MOST_KINDS the others are counted together. For many threads.
"""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from protocol.words import counted

TOLD_AGAIN_S: Final = 60.0
MOST_KINDS: Final = 100
_OTHERS: Final = "Other faults."


class Faults:
    """Says to `say` what is noted."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._again: Counter[str] = Counter()

    def note(self, sentence: str, more: str = "") -> None:
        """Notes that this happened: the first time it is said at once, and `more` below it."""
        with self._lock:
            if sentence not in self._again and len(self._again) >= MOST_KINDS:
                sentence, more = _OTHERS, ""
            if sentence in self._again:
                self._again[sentence] += 1
                return
            self._again[sentence] = 0
        self._say(f"{sentence}\n{more}".rstrip())

    def tell(self) -> None:
        """Says how often each came again since this was called last."""
        with self._lock:
            found = [(sentence, times) for sentence, times in self._again.items() if times]
            for sentence, _ in found:
                self._again[sentence] = 0
        for sentence, times in found:
            self._say(f"{counted(times, 'time')} more: {sentence}")
