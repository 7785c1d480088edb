"""What a node does so that its networks are found, and that it finds others': have-lists, the directory, dialing holders.

Spec: docs/spec/swarm.md ("Fetching").
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

import trio

from node.blobs.have_lists import ENOUGH, HaveLists
from node.blobs.seeking import Provider, Seeker
from node.peering.transport import Transport
from protocol.ed25519 import SecretKey


class Sharing:
    """Shares the networks of one node; `knows(key)` says whose have-lists count, besides those of connected peers."""

    def __init__(
        self,
        transport: Transport,
        secret: SecretKey,
        run: bytes,
        *,
        knows: Callable[[bytes], bool],
        addresses_of: Callable[[bytes], Sequence[str]],
        next_number: Callable[[], int],
        rng: Random,
    ) -> None:
        self._transport = transport
        self._have_lists = HaveLists(transport, secret, run, knows=knows, next_number=next_number, rng=rng)
        self._provider = Provider(transport, self._is_scarce, rng)
        self.seek = Seeker(transport, self._have_lists.holders, addresses_of).seek

    def hold(self, digests: Sequence[bytes]) -> None:
        """Tells others that this node serves these networks, newest first."""
        self._have_lists.announce(digests)
        self._provider.hold(digests)

    def peers_for(self, digest: bytes) -> Sequence[bytes]:
        """Connected peers, those first that told that they have a blob."""
        connected = self._transport.peers()
        told = [key for key in self._have_lists.holders(digest) if key in connected]
        return list(dict.fromkeys([*told, *connected]))

    def holders(self, digests: Iterable[bytes]) -> set[bytes]:
        """The peers that told that they have one of these blobs, connected or not."""
        return {key for digest in digests for key in self._have_lists.holders(digest)}

    async def run(self) -> None:
        """Tells, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._have_lists.run)
            nursery.start_soon(self._provider.run)

    def _is_scarce(self, digest: bytes) -> bool:
        return len(self._have_lists.holders(digest)) < ENOUGH
