"""One look-up of Kademlia: whom to ask next on the way to a target.

Spec: docs/spec/swarm.md ("Directory"). Pure: asks nobody itself. It ends when the CLOSE closest peers known, but for those
that failed, were asked, or MAX_ASKED were.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from node.peering.libp2p.kad.contacts import position
from node.peering.libp2p.kad.message import Told
from node.peering.transport import id_bytes

CLOSE: Final = 12
MAX_ASKED: Final = 32
MAX_CANDIDATES: Final = 256


@dataclass(frozen=True, slots=True)
class Candidate:
    """A peer that may be asked, and who told of it (itself, when this node met it)."""

    key: bytes
    addresses: tuple[str, ...]
    teller: bytes


class Lookup:
    """What is known on the way to `target`; `own_key` is never asked."""

    def __init__(self, target: bytes, own_key: bytes, seeds: Iterable[Candidate]) -> None:
        self._position = position(target)
        self._own_key = own_key
        self._candidates: dict[bytes, Candidate] = {}
        self._asked: set[bytes] = set()
        self._failed: set[bytes] = set()
        self._answered: list[bytes] = []
        self._add(seeds)

    def next(self, most: int) -> list[Candidate]:
        """Up to `most` peers to ask now, which then count as asked; none when the look-up has ended."""
        near = [each for each in self._nearest() if each.key not in self._failed][:CLOSE]
        free = [each for each in near if each.key not in self._asked]
        chosen = free[: min(most, MAX_ASKED - len(self._asked))]
        self._asked.update(each.key for each in chosen)
        return chosen

    def answered(self, peer: bytes, closer: Iterable[Told]) -> None:
        """Notes what `peer`, which was asked, told of others."""
        self._answered.append(peer)
        self._add(Candidate(told.key, told.addresses, peer) for told in closer)

    def failed(self, peer: bytes) -> None:
        """Notes that `peer`, which was asked, did not answer."""
        self._failed.add(peer)

    def closest(self, most: int) -> list[bytes]:
        """Up to `most` of the peers that answered, the closest first."""
        return sorted(self._answered, key=self._distance)[:most]

    def _add(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            if candidate.key == self._own_key or len(self._candidates) >= MAX_CANDIDATES:
                continue
            self._candidates.setdefault(candidate.key, candidate)

    def _nearest(self) -> list[Candidate]:
        return sorted(self._candidates.values(), key=lambda each: self._distance(each.key))

    def _distance(self, key: bytes) -> int:
        return position(id_bytes(key)) ^ self._position
