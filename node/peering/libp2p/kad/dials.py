"""How many connections the directory may make to addresses that others told it.

Spec: docs/spec/swarm.md ("Directory"). A liar who answers a look-up names any address of anybody. So look-ups of all
kinds together dial DIALS at once and one more each DIAL_EVERY_S, one look-up dials DIALS_OF_LOOKUP and of what one peer
told it DIALS_OF_TELLER. A place that was dialed in vain is left alone for REST_S, and so is a whole address group
(`told.group_of`) with VAIN_OF_GROUP such places. Nothing that a peer asks of this node makes it dial.
"""

from collections import Counter
from typing import Final

import trio

from node.peering.libp2p.scope import group_of
from node.peering.libp2p.told import place_of
from node.peering.pace import Bucket

DIALS: Final = 24
DIAL_EVERY_S: Final = 5.0
DIALS_OF_LOOKUP: Final = 12
DIALS_OF_TELLER: Final = 4
VAIN_OF_GROUP: Final = 4
REST_S: Final = 600.0
_MAX_VAIN: Final = 512


class DialBudget:
    """What all look-ups of one node may dial."""

    def __init__(self) -> None:
        self._bucket = Bucket(1 / DIAL_EVERY_S, DIALS)
        self._vain: dict[tuple[str, int], float] = {}

    def may_dial(self, address: str) -> bool:
        """Whether `address`, which has to lead to an IP address directly, may be dialed; it then counts as in vain."""
        place = place_of(address)
        now = trio.current_time()
        if place is None or self._is_resting(place, now) or not self._bucket.take():
            return False
        self._vain[place] = now + REST_S
        if len(self._vain) > _MAX_VAIN:
            del self._vain[next(iter(self._vain))]
        return True

    def worked(self, address: str) -> None:
        """Notes that the dial of `address` was not in vain."""
        self._vain.pop(place_of(address) or ("", 0), None)

    def _is_resting(self, place: tuple[str, int], now: float) -> bool:
        while self._vain and next(iter(self._vain.values())) <= now:
            del self._vain[next(iter(self._vain))]
        groups = Counter(group_of(host) for host, _ in self._vain)
        return place in self._vain or groups[group_of(place[0])] >= VAIN_OF_GROUP


class LookupDials:
    """What one look-up may dial of the node's budget."""

    def __init__(self, budget: DialBudget) -> None:
        self._budget = budget
        self._left = DIALS_OF_LOOKUP
        self._tellers: Counter[bytes] = Counter()

    def may_dial(self, address: str, teller: bytes) -> bool:
        """Whether `address`, told by peer `teller`, may be dialed now, which then counts."""
        if self._left < 1 or self._tellers[teller] >= DIALS_OF_TELLER or not self._budget.may_dial(address):
            return False
        self._left -= 1
        self._tellers[teller] += 1
        return True

    def worked(self, address: str) -> None:
        """Notes that the dial of `address` was not in vain."""
        self._budget.worked(address)
