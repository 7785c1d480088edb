"""How often each of many may do something: token buckets by name, on trio's clock.

Spec: docs/spec/swarm.md ("Hardening"). A bounded number of names is remembered; one that was forgotten has all that it may
take at once, as a new one does.
"""

from collections import OrderedDict
from typing import Final

import trio

MAX_NAMES: Final = 4096


class Pace:
    """Lets each name take `a_second` on the average, and `at_once` after a pause."""

    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = at_once
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, amount: float = 1) -> bool:
        """Whether `name` may take `amount` now, which then counts."""
        left = self._filled(name)
        is_taken = left >= amount
        self._keep(name, left - amount if is_taken else left)
        return is_taken

    def wait_s(self, name: str, amount: float) -> float:
        """How long `name`, which has taken `amount` now, has to wait before it takes more."""
        left = self._filled(name) - amount
        self._keep(name, left)
        return max(0.0, -left / self._a_second)

    def _filled(self, name: str) -> float:
        now = trio.current_time()
        left, since = self._left.pop(name, (self._at_once, now))
        return min(left + (now - since) * self._a_second, self._at_once)

    def _keep(self, name: str, left: float) -> None:
        self._left[name] = left, trio.current_time()
        if len(self._left) > MAX_NAMES:
            self._left.popitem(last=False)
