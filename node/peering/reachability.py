"""Keeps places at relays for a node that nobody dials.

Spec: docs/spec/swarm.md ("Relay"). A node that has links but was dialed by nobody for WAIT_S asks linked peers, in random
order, for places until it has RELAYS, asks again in good time, and elsewhere when one is lost; once it is dialed itself
it asks no more, and the places lapse.
"""

import logging
from enum import Enum
from random import Random
from typing import Final

import trio

from node.events import Events
from node.peering.transport import RESERVED_S, Transport, TransportError, short

log = logging.getLogger("gonode.net")

RELAYS: Final = 2
"""The places that a node keeps."""

WAIT_S: Final = 60.0
"""How long a node waits for somebody to dial it."""

RENEW_S: Final = RESERVED_S / 4
REFUSED_S: Final = 300.0
"""How long a peer that gave no place is not asked again."""

_LOOK_S: Final = 5.0


class UseRelays(Enum):
    """When a node keeps places at relays: when nobody dials it, always, or never."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Reachability:
    """Keeps places at relays for the node of `transport`."""

    def __init__(self, transport: Transport, use: UseRelays, events: Events, rng: Random) -> None:
        self._transport = transport
        self._use = use
        self._events = events
        self._rng = rng
        self._asked_at: dict[bytes, float] = {}
        self._not_before: dict[bytes, float] = {}
        self._alone_since: float | None = None

    async def run(self) -> None:
        """Looks every few seconds until cancelled."""
        while self._use is not UseRelays.NEVER:
            self._forget_lost()
            if self._needs_relays():
                await self._keep()
            await trio.sleep(_LOOK_S * self._rng.uniform(0.75, 1.25))

    def _needs_relays(self) -> bool:
        """Whether the node has had links for WAIT_S during which nobody dialed it, or is to keep places anyway."""
        if self._use is UseRelays.ALWAYS:
            return True
        if not self._transport.peers() or self._transport.is_dialed():
            self._alone_since = None
            return False
        if self._alone_since is None:
            self._alone_since = trio.current_time()
        return trio.current_time() - self._alone_since >= WAIT_S

    def _forget_lost(self) -> None:
        now = trio.current_time()
        held = self._transport.relays()
        self._asked_at = {relay: at for relay, at in self._asked_at.items() if relay in held}
        self._not_before = {peer: at for peer, at in self._not_before.items() if at > now}

    async def _keep(self) -> None:
        """Asks again where that is due, then others until there are enough."""
        now = trio.current_time()
        for relay in [relay for relay, at in self._asked_at.items() if now - at >= RENEW_S]:
            await self._ask(relay)
        others = [
            peer for peer in self._transport.peers() if peer not in self._asked_at and peer not in self._not_before
        ]
        self._rng.shuffle(others)
        for peer in others:
            if len(self._asked_at) >= RELAYS:
                return
            await self._ask(peer)

    async def _ask(self, peer: bytes) -> None:
        is_new = peer not in self._asked_at
        try:
            await self._transport.reserve(peer)
        except TransportError as error:
            log.debug("no place at %s: %s", short(peer), error)
            self._asked_at.pop(peer, None)
            self._not_before[peer] = trio.current_time() + REFUSED_S * self._rng.uniform(0.5, 1.5)
            return
        self._asked_at[peer] = trio.current_time()
        if is_new:
            self._events("relayed", f"Peer {short(peer)} relays for this node.", relay=peer.hex())
