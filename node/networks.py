"""The networks that this node plays with: found by digest, fetched from peers, loaded once.

A network's file is a blob; it is used only after its plain SHA-256 is the one that the log names. Release 0 is drawn from
the manifest by the engine (or is uniform evaluation) and never fetched.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial

from native.errors import EngineError
from native.network import Network
from native.search import Player
from node.blobs.service import BlobService
from node.blobs.sharing import Sharing
from protocol.manifest import Manifest
from protocol.types import ZERO
from verification.releases import first_network

FETCH_WITHIN_S = 600
KEEP_LOADED = 4
MOST_TOLD = 4


class NetworkFault(Exception):
    """One sentence about a network's file that is not what the log names."""


class Networks:
    """Loaded networks as players, a few at a time; with `sharing`, others are told which ones this node serves."""

    def __init__(self, blobs: BlobService, peers: Callable[[], Sequence[bytes]]) -> None:
        self.sharing: Sharing | None = None
        self._blobs = blobs
        self._peers = peers
        self._held: list[bytes] = []
        self._loaded: dict[bytes, Network] = {}

    async def player(self, name: bytes, network: bytes, blob: bytes, length: int) -> Player:
        """The player that plays as `name` (a release id, or a candidate's train-record digest) with this network.

        `network` is the file's SHA-256, `blob` its blob digest. Raises NetworkFault, or a transport error.
        """
        loaded = self._loaded.get(network)
        if loaded is None:
            data = await self._blobs.fetch(
                blob, partial(self._peers_for, blob), length, FETCH_WITHIN_S, began=partial(self._hold, blob)
            )
            self._hold(blob)
            if len(data) != length or hashlib.sha256(data).digest() != network:
                raise NetworkFault(f"The file of network {network.hex()[:16]} is not the one that the log names.")
            try:
                loaded = self._remember(network, data)
            except EngineError as error:
                raise NetworkFault(f"Network {network.hex()[:16]} cannot be loaded: {error}") from error
        return Player(loaded, name)

    def first_player(self, name: bytes, manifest: Manifest, manifest_digest: bytes) -> Player:
        """The player of release 0."""
        loaded = self._loaded.get(ZERO)
        if loaded is None:
            file = first_network(manifest, manifest_digest)
            if file is None:
                return Player(None, name)
            loaded = self._remember(ZERO, file)
        return Player(loaded, name)

    def _peers_for(self, blob: bytes) -> Sequence[bytes]:
        return self._peers() if self.sharing is None else self.sharing.peers_for(blob)

    def _hold(self, blob: bytes) -> None:
        """Has others know that this node serves a network, from its first chunk on."""
        self._held = [blob, *(each for each in self._held if each != blob)][:MOST_TOLD]
        if self.sharing is not None:
            self.sharing.hold(self._held)

    def _remember(self, key: bytes, data: bytes) -> Network:
        loaded = self._loaded[key] = Network.load(data)
        while len(self._loaded) > KEEP_LOADED:
            del self._loaded[next(iter(self._loaded))]
        return loaded
