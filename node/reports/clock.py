"""When the log had which size, as witnesses said: `Clock`. The log itself has no time.

Spec: docs/spec/log.md ("Checkpoint"). A witness's cosignature says when it saw a head. These are heads that the node in the
folder took as valid when it kept them; a report checks no signature again.
"""

from bisect import bisect_left
from collections.abc import Iterable

from node.disk.store import Head, Store
from protocol.checkpoint import SignedNote
from protocol.ed25519 import SIGNATURE_BYTES
from protocol.errors import ProtocolError

TIME_BYTES = 8
MOST_HEADS = 2000
PAGE = 1000


class Clock:
    """Times of log sizes, never falling."""

    def __init__(self, points: Iterable[tuple[int, int]]) -> None:
        """`points`: (size, Unix seconds) in any order."""
        self._sizes: list[int] = []
        self._times: list[int] = []
        for size, unix_s in sorted(points):
            if not self._sizes or size > self._sizes[-1]:
                self._sizes.append(size)
                self._times.append(max(unix_s, self._times[-1] if self._times else unix_s))

    @property
    def first(self) -> int | None:
        """The earliest time."""
        return self._times[0] if self._times else None

    @property
    def last(self) -> int | None:
        """The latest time."""
        return self._times[-1] if self._times else None

    def by(self, size: int) -> int | None:
        """By when the log had `size` entries, in Unix seconds; None where no head says."""
        at = bisect_left(self._sizes, size)
        return self._times[at] if at < len(self._sizes) else None


def read_clock(store: Store) -> Clock:
    """The clock of the heads in a node's store; of many heads, some."""
    points: list[tuple[int, int]] = []
    start = 0
    while heads := store.heads(start, PAGE):
        points += [(head.size, unix_s) for head in heads if (unix_s := seen_unix_s(head)) is not None]
        start = heads[-1].size + 1
    step = max(1, len(points) // MOST_HEADS)
    return Clock([*points[::step], *points[-1:]])


def seen_unix_s(head: Head) -> int | None:
    """When the first witness saw a head; None when none cosigned it."""
    try:
        signatures = SignedNote.parse(head.note).signatures
    except ProtocolError:
        return None
    times = [
        int.from_bytes(each.signature[:TIME_BYTES], "big")
        for each in signatures
        if len(each.signature) == TIME_BYTES + SIGNATURE_BYTES
    ]
    return min(times, default=None)
