"""Which peers are banned, why, and for how long; kept on disk.

Spec: docs/spec/swarm.md ("Bans"). A ban is of a key, for an hour, doubled each time, at most a week of the node's running
time: it is counted on trio's clock and what is left of it is written down, so the wall clock has no part in it.
"""

from dataclasses import dataclass, replace
from typing import Final

import trio

from node.disk.store import BanRecord, Store

FIRST_S: Final = 3600.0
MOST_S: Final = 7 * 86400.0
HOLD_OFF_S: Final = 60.0
"""How long a peer is refused that must not be banned: one that the ticket names."""

MAX_BANS: Final = 4096
_MOST_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class Ban:
    """A ban in force: `times` counts the bans of `key` so far, `left_s` is what is left of this one."""

    key: bytes
    reason: str
    times: int
    left_s: float


class Bans:
    """The bans kept in `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records = {record.key: record for record in store.bans()}
        now = trio.current_time()
        self._until = {
            key: now + min(record.left_s, length_s(record.times))
            for key, record in self._records.items()
            if record.left_s > 0
        }
        self._held_off: dict[bytes, float] = {}

    def is_banned(self, key: bytes) -> bool:
        """Whether a peer is to be refused now."""
        until = max(self._until.get(key, 0.0), self._held_off.get(key, 0.0))
        return until > 0 and trio.current_time() < until

    def now(self) -> list[Ban]:
        """The bans in force."""
        now = trio.current_time()
        active = [(self._records[key], until - now) for key, until in self._until.items() if now < until]
        return [Ban(record.key, record.reason, record.times, left) for record, left in active]

    def ban(self, key: bytes, reason: str) -> None:
        """Bans a peer, for longer than the last time; one that is banned already stays so."""
        if self.is_banned(key):
            return
        known = self._records.get(key)
        times = 1 if known is None else known.times + 1
        if known is None and len(self._records) >= MAX_BANS:
            self._forget_one()
        self._until[key] = trio.current_time() + length_s(times)
        self._keep(BanRecord(key, reason[:_MOST_REASON], times, round(length_s(times))))

    def hold_off(self, key: bytes) -> None:
        """Refuses a peer for HOLD_OFF_S, which is not written down."""
        self._held_off[key] = trio.current_time() + HOLD_OFF_S

    def save(self) -> None:
        """Writes down what is left of each ban; bans that are over stay known as such."""
        now = trio.current_time()
        with self._store.transaction():
            for key, until in list(self._until.items()):
                self._keep(replace(self._records[key], left_s=max(round(until - now), 0)))
                if until <= now:
                    del self._until[key]
        self._held_off = {key: until for key, until in self._held_off.items() if now < until}

    def _keep(self, record: BanRecord) -> None:
        self._records[record.key] = record
        self._store.put_ban(record)

    def _forget_one(self) -> None:
        """Forgets the ban that ended, or that ends first."""
        now = trio.current_time()
        key = min(self._records, key=lambda key: (max(self._until.get(key, now), now), self._records[key].times, key))
        del self._records[key]
        self._until.pop(key, None)
        self._store.drop_ban(key)


def length_s(times: int) -> float:
    """How long the ban of a peer lasts that is banned for the `times`-th time."""
    return min(FIRST_S * 2.0 ** min(times - 1, 30), MOST_S)
