"""A public node without a role: it follows and serves the log, keeps the newest networks and serves these, and relays.

Spec: docs/spec/swarm.md ("Relay"). It plays, checks and signs nothing, and nothing is lost with it.
"""

import logging
from typing import Final

import trio

from node.member import Member
from node.own_status import queue_of
from node.peering.transport import TransportError
from node.role_status import Relaying
from node.status import Queue

log = logging.getLogger("gonode.net")

KEPT_RELEASES: Final = 3
"""The newest releases whose networks are fetched."""

FETCH_WITHIN_S: Final = 600.0
AGAIN_S: Final = 30.0
"""The wait after a network could not be fetched, give or take a quarter."""


class PublicRelay:
    """The role of `gonode relay`."""

    DRAINING = "Ending."

    def __init__(self, member: Member) -> None:
        self.networks = 0
        self._member = member
        self._scope = trio.CancelScope()
        self._fetching: str | None = None
        self._since_s: float | None = None

    @property
    def queues(self) -> list[Queue]:
        """The networks that are still to be fetched."""
        waiting = self._fetching if self._since_s is not None else None
        return [queue_of(self._member, "network", len(self._missing()), waiting, self._since_s)]

    def status(self) -> Relaying:
        """What `gonode status` adds of a relay."""
        places, circuits = self._member.transport.relaying()
        return Relaying(self.networks, len(places), circuits)

    async def run(self) -> None:
        """Fetches each new release's network until drained."""
        with self._scope:
            await self._member.services.keep("networks", self._fetch_all)

    def drain(self) -> None:
        """Ends the role; nothing is in flight that would be lost."""
        self._scope.cancel()

    async def _fetch_all(self) -> None:
        while True:
            missing = self._missing()
            if not missing:
                self._since_s = None
                await self._member.change_within(AGAIN_S)
            elif not await self._fetch(*missing[0]):
                await trio.sleep(self._member.jitter(AGAIN_S))

    def _missing(self) -> list[tuple[bytes, int]]:
        """Digest and length of the networks to fetch, the newest first."""
        newest = [release for release in self._member.releases if release.number > 0][-KEPT_RELEASES:]
        return [
            (release.network_blob, release.network_len)
            for release in reversed(newest)
            if not self._member.blob_store.has(release.network_blob)
        ]

    async def _fetch(self, blob: bytes, length: int) -> bool:
        """Whether the blob is here now."""
        if self._since_s is None:
            self._since_s = trio.current_time()
        self._fetching = f"a peer with network {blob.hex()[:16]}"
        try:
            await self._member.blobs.fetch(blob, self._member.transport.peers, length, FETCH_WITHIN_S)
        except TransportError as error:
            log.info("a network was not fetched: %s", error)
            return False
        self._member.events("network", f"Serving network {blob.hex()[:16]} ({length} bytes).", blob=blob.hex())
        self.networks += 1
        self._since_s = None
        return True
