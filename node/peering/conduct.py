"""What follows from what peers do: a proven lie bans at once, lesser things add up.

Spec: docs/spec/swarm.md ("Bans"). A banned peer is refused by the transport and its connection is ended. Failures and
silence are no misdeeds: they never lead here. A peer that the ticket names is held off for a minute instead, for without it
a node may have no way into its run.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import trio

from node.peering.bans import Bans
from node.peering.transport import Misdeed, Transport, short

log = logging.getLogger("gonode.net")

POINTS: Final = {
    Misdeed.OVERRUN: 50.0,
    Misdeed.TOO_LONG: 20.0,
    Misdeed.UNSTAMPED: 20.0,
    Misdeed.MALFORMED: 2.0,
    Misdeed.TOO_OFTEN: 1.0,
}
BAN_AT: Final = 100.0
"""A peer with so many points is banned; it loses a point a second."""

_SAVE_S: Final = 60.0
_ACCOUNTS: Final = 1024

Report = Callable[[bytes, str], None]
"""Told that the peer with this key lied, and how: wrong bytes of a blob, entries that lead to no proof."""


class Conduct:
    """Bans peers of `transport`, which refuses them from now on; `is_fixed(key)` says who is never banned."""

    def __init__(self, transport: Transport, bans: Bans, is_fixed: Callable[[bytes], bool]) -> None:
        self.bans = bans
        self._transport = transport
        self._is_fixed = is_fixed
        self._points: OrderedDict[bytes, tuple[float, float]] = OrderedDict()
        self._banned = trio.Event()
        transport.refuse = bans.is_banned
        transport.complain = self.complain

    def report(self, peer: bytes, reason: str) -> None:
        """Bans a peer for what it is proven to have done; `reason` is one sentence."""
        if peer == self._transport.key:
            return
        if self._is_fixed(peer):
            log.warning("peer %s, which the ticket names, is left alone for a while: %s", short(peer), reason)
            self.bans.hold_off(peer)
        else:
            log.warning("peer %s is banned: %s", short(peer), reason)
            self.bans.ban(peer, reason)
        self._banned.set()

    def complain(self, peer: bytes, misdeed: Misdeed) -> None:
        """Adds to the points of a peer, which is banned at BAN_AT."""
        now = trio.current_time()
        points, since = self._points.pop(peer, (0.0, now))
        points = max(points - (now - since), 0.0) + POINTS[misdeed]
        if points >= BAN_AT:
            self.report(peer, misdeed.value)
            return
        self._points[peer] = points, now
        if len(self._points) > _ACCOUNTS:
            self._points.popitem(last=False)

    async def run(self) -> None:
        """Ends the connections of banned peers and writes down what is left of bans; until cancelled."""
        try:
            while True:
                with trio.move_on_after(_SAVE_S):
                    await self._banned.wait()
                self._banned = trio.Event()
                self.bans.save()
                async with trio.open_nursery() as nursery:
                    for peer in filter(self.bans.is_banned, self._transport.peers()):
                        nursery.start_soon(self._transport.disconnect, peer)
        finally:
            self.bans.save()
