"""Provider records that peers leave with this node: who says that it serves what.

Spec: docs/spec/swarm.md ("Directory"). Invariants: each record was brought by the provider itself and is given for
RECORD_S; at most MAX_RECORDS, of them MAX_OF_KEY of one key and MAX_OF_PEER of one peer. When a limit is met, the newcomer
takes the place of the address group (`told.group_of`) that has most of them, unless that is its own.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import trio

from node.peering.libp2p.kad.message import Told
from node.peering.transport import PROVIDED_S

RECORD_S: Final = PROVIDED_S
MAX_RECORDS: Final = 4096
MAX_OF_KEY: Final = 64
MAX_OF_PEER: Final = 256


@dataclass(frozen=True, slots=True)
class ProviderRecord:
    """A provider of a key with its addresses, the group it came from, and until when (trio's clock) it is given."""

    key: bytes
    provider: Told
    group: str
    until_s: float


class ProviderRecords:
    """The records that this node keeps, oldest first."""

    def __init__(self) -> None:
        self._records: dict[tuple[bytes, bytes], ProviderRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def add(self, key: bytes, provider: Told, group: str) -> bool:
        """Keeps for RECORD_S that `provider`, at an address of `group`, serves `key`; whether there was a place."""
        self._expire()
        name = key, provider.key
        if name in self._records:
            del self._records[name]
        elif not provider.addresses or not self._make_place(key, provider.key, group):
            return False
        self._records[name] = ProviderRecord(key, provider, group, trio.current_time() + RECORD_S)
        return True

    def find(self, key: bytes, most: int) -> tuple[Told, ...]:
        """Up to `most` providers of `key`, those told last first."""
        self._expire()
        found = [record.provider for record in self._records.values() if record.key == key]
        return tuple(found[::-1][:most])

    def _expire(self) -> None:
        now = trio.current_time()
        while self._records:
            name = next(iter(self._records))
            if self._records[name].until_s > now:
                return
            del self._records[name]

    def _make_place(self, key: bytes, peer: bytes, group: str) -> bool:
        everything = self._records.values()
        if sum(record.provider.key == peer for record in everything) >= MAX_OF_PEER:
            return False
        of_key = [record for record in everything if record.key == key]
        if len(of_key) >= MAX_OF_KEY:
            return self._displace(of_key, group)
        return len(everything) < MAX_RECORDS or self._displace(list(everything), group)

    def _displace(self, held: Sequence[ProviderRecord], group: str) -> bool:
        """Drops the oldest record of the group that has most of `held`, unless `group` has as many."""
        counts = Counter(record.group for record in held)
        biggest, most = counts.most_common(1)[0]
        if counts[group] >= most:
            return False
        oldest = next(record for record in held if record.group == biggest)
        del self._records[oldest.key, oldest.provider.key]
        return True
