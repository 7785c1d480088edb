"""How often something may be done: token buckets on trio's clock, alone, by name, and by name within a common one.

Spec: docs/spec/swarm.md ("Hardening"). A bounded number of names is remembered; one that was forgotten has all that it may
take at once, as a new one does.
"""

from collections import OrderedDict
from typing import Final

import trio

MAX_NAMES: Final = 4096


class Bucket:
    """Lets `a_second` through on the average, and `at_once` after a pause."""

    __slots__ = ("_a_second", "_at_once", "_counted_s", "_left")

    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = at_once
        self._left = at_once
        self._counted_s = trio.current_time()

    def has(self, amount: float = 1) -> bool:
        """Whether `amount` may be taken now."""
        self._fill()
        return self._left >= amount

    def take(self, amount: float = 1) -> bool:
        """Whether `amount` may be taken now, which then counts."""
        is_taken = self.has(amount)
        self._left -= amount * is_taken
        return is_taken

    def wait_s(self, amount: float) -> float:
        """How long to wait after `amount` was taken now, whether it was there or not, before more is taken."""
        self._fill()
        self._left -= amount
        return max(0.0, -self._left / self._a_second)

    def _fill(self) -> None:
        now = trio.current_time()
        self._left = min(self._left + (now - self._counted_s) * self._a_second, self._at_once)
        self._counted_s = now


class Pace:
    """A bucket for each name; those of the MAX_NAMES used last are kept."""

    def __init__(self, a_second: float, at_once: float) -> None:
        self._a_second = a_second
        self._at_once = at_once
        self._buckets: OrderedDict[bytes | str, Bucket] = OrderedDict()

    def of(self, name: bytes | str) -> Bucket:
        """The bucket of a name."""
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = Bucket(self._a_second, self._at_once)
            if len(self._buckets) > MAX_NAMES:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(name)
        return bucket

    def take(self, name: bytes | str) -> bool:
        """Whether `name` may do something once more now, which then counts."""
        return self.of(name).take()


class SharedPace:
    """A bucket for each name and one for all together, so that no few names keep the others out."""

    def __init__(self, each: tuple[float, float], together: tuple[float, float]) -> None:
        self._each = Pace(*each)
        self._together = Bucket(*together)

    def take(self, name: bytes | str) -> bool:
        """Whether `name` may do something once more now, which then counts for it and for all."""
        return self._each.of(name).has() and self._together.take() and self._each.take(name)
