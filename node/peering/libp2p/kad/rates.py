"""How many requests the directory answers: of each address group, and in all.

Spec: docs/spec/swarm.md ("Directory"). Token buckets on trio's clock; the groups remembered are bounded.
"""

from typing import Final

import trio

A_SECOND: Final = 100.0
A_SECOND_OF_GROUP: Final = 20.0
AT_ONCE: Final = 200.0
_MAX_GROUPS: Final = 1024


class Rates:
    """Counts requests by the address group (`told.group_of`) they came from."""

    def __init__(self) -> None:
        self._all = (AT_ONCE, trio.current_time())
        self._groups: dict[str, tuple[float, float]] = {}

    def take(self, group: str) -> bool:
        """Whether one more request of `group` is answered now, which then counts."""
        own = _filled(self._groups.pop(group, None), A_SECOND_OF_GROUP)
        everybody = _filled(self._all, A_SECOND)
        is_taken = own >= 1 and everybody >= 1
        now = trio.current_time()
        self._groups[group] = own - is_taken, now
        self._all = everybody - is_taken, now
        if len(self._groups) > _MAX_GROUPS:
            del self._groups[next(iter(self._groups))]
        return is_taken


def _filled(bucket: tuple[float, float] | None, a_second: float) -> float:
    """What a bucket holds now; a new one is full."""
    if bucket is None:
        return AT_ONCE
    left, counted_s = bucket
    return min(left + (trio.current_time() - counted_s) * a_second, AT_ONCE)
