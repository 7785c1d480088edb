"""How much is done a second, by what was finished lately.

Invariants: what is counted came within the last WINDOW_S, or else it is the last FEW things that came, over the time since
the one before them; so a rate of rare things does not jump, and falls when nothing comes any more.
"""

from collections import deque
from typing import Final

WINDOW_S: Final = 60.0
FEW: Final = 4


class Rate:
    """Amounts as they come; times are seconds of one clock that does not go back."""

    def __init__(self, began_s: float) -> None:
        self._marks: deque[tuple[float, float]] = deque()
        self._began_s = began_s

    def add(self, now_s: float, amount: float) -> None:
        """Something of this amount was finished."""
        self._marks.append((now_s, amount))
        self._forget(now_s)

    def per_s(self, now_s: float) -> float | None:
        """The rate now; None before the first thing came."""
        self._forget(now_s)
        if not self._marks:
            return None
        since_s = self._began_s
        if len(self._marks) >= FEW and self._marks[0][0] >= now_s - WINDOW_S:
            since_s = max(since_s, now_s - WINDOW_S)
        amount = sum(amount for _, amount in self._marks)
        return amount / max(now_s - since_s, 1e-3)

    def _forget(self, now_s: float) -> None:
        """Drops what is older than the window, as long as FEW are left; the last that is dropped begins the count."""
        while len(self._marks) > FEW and self._marks[0][0] < now_s - WINDOW_S:
            self._began_s = self._marks.popleft()[0]
