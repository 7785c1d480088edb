"""Where the check of a fraud proof gets the release's network from: files, a node's directory, or a run's peers.

Spec: `docs/spec/proof.md` ("Semantics"). Nobody is believed: the check compares the file's SHA-256 with the release's.
"""

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

import trio

from node.disk.blob_store import BlobStore
from node.disk.home import Home, read_ticket
from node.disk.keyring import load_or_create_key
from node.events import silent
from node.launch import OpenTransport, open_member
from node.peering.transport import Unreachable
from protocol.errors import ProtocolError
from protocol.proof import FraudProof
from protocol.release import Release
from protocol.ticket import Ticket

FETCH_WITHIN_S = 120


class ProofNetworks:
    """Gives a network by its SHA-256; call it as a `verification.proof.NetworkOf`."""

    def __init__(
        self, proof: bytes, files: Iterable[Path] = (), directory: Path | None = None, ticket: str | None = None
    ):
        """Reads `files` at once; raises OSError. Peers are asked only when the network is nowhere else."""
        self._given = {hashlib.sha256(data).digest(): data for data in (file.read_bytes() for file in files)}
        self._store = None if directory is None else BlobStore(Home(directory).public)
        self._ticket = None if ticket is None else read_ticket(ticket)
        self._release = _release_of(proof)
        home = None if directory is None else Home(directory)
        if self._ticket is None and home is not None and home.ticket.exists():
            self.run: bytes | None = home.load_ticket().run
        else:
            self.run = None if self._ticket is None else self._ticket.run

    def __call__(self, digest: bytes) -> bytes | None:
        """The network's file, or None."""
        release = self._release
        if digest in self._given or release is None:
            return self._given.get(digest)
        stored = None if self._store is None else self._store.get(release.network_blob)
        if stored is not None or self._ticket is None:
            return stored
        return trio.run(fetch_network, self._ticket, release)


def _release_of(proof: bytes) -> Release | None:
    """The release that a proof names, where its network is a blob."""
    try:
        return Release.parse(FraudProof.parse(proof).release)
    except ProtocolError:
        return None


async def fetch_network(ticket: Ticket, release: Release, open_transport: OpenTransport | None = None) -> bytes:
    """A release's network from the peers of a run, over libp2p unless told otherwise; raises Unreachable."""
    if open_transport is None:
        from node.peering.libp2p.opening import open_libp2p

        open_transport = open_libp2p
    with tempfile.TemporaryDirectory(prefix="gonode-proof-") as folder:
        home = Home(Path(folder))
        home.store_ticket(ticket)
        secret = load_or_create_key(home.key("host"))
        with trio.move_on_after(FETCH_WITHIN_S):
            async with open_member(home, ticket, secret, open_transport, silent, ["/ip4/127.0.0.1/tcp/0"]) as member:
                return await member.blobs.fetch(
                    release.network_blob, member.reach.peers, release.network_len, FETCH_WITHIN_S
                )
    raise Unreachable(f"No peer of this run gave the network {release.network.hex()[:16]} within {FETCH_WITHIN_S} s.")
