"""Networks that lie in a node's public folder, ready to play: `Shelf`.

Spec: docs/spec/blob.md. Nothing is written or fetched: a network that is not here is said to be missing. Invariant: a
network is used only after the SHA-256 of its file is the one that the log names.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from native.errors import EngineError
from native.network import Network
from node.disk.blob_store import BlobStore
from node.play.errors import NotHere
from protocol.manifest import Manifest
from protocol.release import Release
from verification.releases import first_network

KEPT: Final = 3


class Shelf:
    """The networks of a run in one public folder; the last ones played with stay loaded. For many threads."""

    def __init__(self, public: Path) -> None:
        self._blobs = BlobStore(public)
        self._lock = threading.Lock()
        self._loaded: OrderedDict[bytes, Network] = OrderedDict()

    def has(self, release: Release) -> bool:
        """Whether a release's file is here and as long as it has to be."""
        try:
            return self._blobs.path(release.network_blob).stat().st_size == release.network_len
        except OSError:
            return False

    def network(self, release: Release) -> Network:
        """A release's network; raises NotHere."""
        return self._get(release.network, lambda: self._read(release))

    def first(self, manifest: Manifest, digest: bytes) -> Network | None:
        """The network of release 0 by the manifest of this digest, None for uniform evaluation."""
        if manifest.network.first == "uniform":
            return None

        def drawn() -> bytes:
            file = first_network(manifest, digest)
            assert file is not None, "only uniform evaluation has no file"
            return file

        return self._get(digest, drawn)

    def _get(self, name: bytes, read: Callable[[], bytes]) -> Network:
        with self._lock:
            network = self._loaded.get(name)
            if network is None:
                try:
                    network = self._loaded[name] = Network.load(read())
                except EngineError as error:
                    raise NotHere(f"The network of this release cannot be loaded: {error}") from None
                while len(self._loaded) > KEPT:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(name)
            return network

    def _read(self, release: Release) -> bytes:
        try:
            with self._blobs.path(release.network_blob).open("rb") as file:
                data = file.read(release.network_len + 1)
        except OSError:
            raise NotHere(missing(release.name)) from None
        if len(data) != release.network_len or sha256(data).digest() != release.network:
            raise NotHere(f"The file of the network of release {release.name} is damaged in this node's directory.")
        return data


def missing(name: str) -> str:
    """What is said of a release whose network is not here."""
    return (
        f"The network of release {name} is not in this node's directory: a node keeps the networks that it plays with "
        "itself; the run's coordinator and mirrors keep all."
    )
