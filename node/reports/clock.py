"""When the log had which size, as witnesses said: `Clock`. The log itself has no time.

Spec: docs/spec/log.md ("Checkpoint"). A witness's cosignature says when it saw a head, and a dishonest one says what it
likes: a head has a time once enough witnesses cosigned it, the median of those that count, and none far ahead of this
machine's clock. These are heads that the node in the folder took as valid when it kept them; no signature is checked again.
"""

import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from node.disk.store import Head, Store
from protocol.checkpoint import COSIGNATURE_V1, SignedNote
from protocol.errors import ProtocolError
from verification.faults import LogFault
from verification.root_versions import RootVersions
from verification.witness import cosigners_of, verify_head, witness_name, witnesses

TIME_BYTES = 8
AHEAD_S = 600
"""How far ahead of this machine's clock a witness's may be; a later time is taken for one as late as that."""
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


def read_clock(store: Store, run: bytes, roots: RootVersions) -> Clock:
    """The clock of the heads in a node's store whose log has these root versions; of many heads, some."""
    points: list[tuple[int, int]] = []
    start, size = 0, store.log_size
    while heads := store.heads(start, PAGE):
        known = [head for head in heads if head.size <= size]
        points += [(head.size, unix_s) for head in known if (unix_s := cosigned_unix_s(head, run, roots)) is not None]
        start = heads[-1].size + 1
    step = max(1, len(points) // MOST_HEADS)
    return Clock([*points[::step], *points[-1:]])


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A witness that cosigned a head, and when it says that it saw it, in Unix seconds."""

    key: bytes
    unix_s: int


def cosignatures(head: Head, run: bytes, roots: RootVersions) -> tuple[Cosignature, ...]:
    """Those that count on a head that the log of `roots` reaches, in the root's order; none where they are too few."""
    try:
        note = SignedNote.parse(head.note)
        verify_head(note, run, roots, is_verified=True)
        counting = witnesses(roots, head.size)
        keys = [key for key in cosigners_of(note, roots.at(head.size), is_verified=True) if key in counting]
        lines = [note.find(witness_name(key), key, COSIGNATURE_V1) for key in keys]
    except (LogFault, ProtocolError):
        return ()
    times = (int.from_bytes(line.signature[:TIME_BYTES], "big") for line in lines)
    return tuple(Cosignature(key, unix_s) for key, unix_s in zip(keys, times, strict=True))


def cosigned_unix_s(head: Head, run: bytes, roots: RootVersions) -> int | None:
    """When witnesses saw a head that the log of `roots` reaches, in Unix seconds; None where too few cosigned it."""
    return seen_unix_s(cosignatures(head, run, roots))


def seen_unix_s(found: Sequence[Cosignature]) -> int | None:
    """The one time of cosignatures that are enough; None of none."""
    times = sorted(each.unix_s for each in found)
    return min(times[(len(times) - 1) // 2], int(time.time()) + AHEAD_S) if times else None
