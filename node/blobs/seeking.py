"""Finding a blob that no connected peer has, and being found by those who look for one.

Spec: docs/spec/swarm.md ("Fetching"), docs/spec/wire.md ("Directory"). Who told that it has a blob is dialed where its
address is known; else the directory of peers is asked. All of it are hints: what comes is checked as always.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from random import Random
from typing import Final

import trio

from node.peering.transport import PROVIDED_S, Transport, TransportError, short

log = logging.getLogger("gonode.net")

MAX_DIALS: Final = 4
"""The most peers that are dialed for one blob at a time."""

MAX_PROVIDED: Final = 4
"""So many of the newest blobs are told to the directory."""

PROVIDE_EVERY_S: Final = PROVIDED_S * 2 / 3
"""How often the directory is told of one blob, while it is scarce."""

_PROVIDE_GAP_S: Final = 5.0
_DOMAIN: Final = b"gonode/blob/v1\0"


def blob_key(digest: bytes) -> bytes:
    """The key of a blob in the directory of peers."""
    return sha256(_DOMAIN + digest).digest()


class Seeker:
    """Connects to holders of blobs.

    `holders(digest)` names those who told, `addresses_of(key)` where a peer may be dialed.
    """

    def __init__(
        self,
        transport: Transport,
        holders: Callable[[bytes], Sequence[bytes]],
        addresses_of: Callable[[bytes], Sequence[str]],
    ) -> None:
        self._transport = transport
        self._holders = holders
        self._addresses_of = addresses_of

    async def seek(self, digest: bytes) -> Sequence[bytes]:
        """The keys of peers that are connected now and are said to have a blob; none when nobody was found."""
        connected = self._transport.peers()
        told = [key for key in self._holders(digest) if key not in connected and key != self._transport.key]
        found = await self._dial(address for key in told for address in self._addresses_of(key)[:1])
        if not found:
            try:
                found = await self._dial(await self._transport.find(blob_key(digest)))
            except TransportError as error:
                log.debug("the directory does not know blob %s: %s", short(digest), error)
        return found

    async def _dial(self, addresses: Iterable[str]) -> list[bytes]:
        found: list[bytes] = []
        for _, address in zip(range(MAX_DIALS), addresses, strict=False):
            try:
                found.append(await self._transport.dial(address))
            except TransportError as error:
                log.debug("no holder at %s: %s", address, error)
        return found


class Provider:
    """Tells the directory of the newest blobs of this node, those only for which `is_scarce(digest)` holds."""

    def __init__(self, transport: Transport, is_scarce: Callable[[bytes], bool], rng: Random) -> None:
        self._transport = transport
        self._is_scarce = is_scarce
        self._rng = rng
        self._blobs: list[bytes] = []
        self._told_s: dict[bytes, float] = {}
        self._wake = trio.Event()

    def hold(self, digests: Iterable[bytes]) -> None:
        """Notes what this node has, newest first; MAX_PROVIDED of them count."""
        self._blobs = list(dict.fromkeys(digests))[:MAX_PROVIDED]
        self._wake.set()

    async def run(self) -> None:
        """Tells, each blob once in PROVIDE_EVERY_S, until cancelled. It does not matter whether that works."""
        while True:
            self._wake = trio.Event()
            self._told_s = {blob: when for blob, when in self._told_s.items() if blob in self._blobs}
            for blob in [blob for blob in self._blobs if self._is_scarce(blob)]:
                now = trio.current_time()
                if self._told_s.get(blob, now - PROVIDE_EVERY_S) + PROVIDE_EVERY_S > now:
                    continue
                self._told_s[blob] = now
                try:
                    await self._transport.provide(blob_key(blob))
                except TransportError as error:
                    log.debug("the directory was not told of blob %s: %s", short(blob), error)
                await trio.sleep(_PROVIDE_GAP_S * self._rng.uniform(0.5, 1.5))
            with trio.move_on_after(PROVIDE_EVERY_S * self._rng.uniform(0.25, 0.5)):
                await self._wake.wait()
