"""The log of a run in memory, with everybody's keys: records are sealed, applied and kept, epochs begin, shares are logged.

For tests. Everything follows from the seed word, so two logs with the same calls have the same bytes.
"""

from collections.abc import Iterable
from hashlib import sha256

from native.network import Kernel
from protocol import seeds
from protocol.ed25519 import SecretKey
from protocol.envelope import Envelope
from protocol.epoch import EpochHash, EpochReveal, Share, ShareSet
from protocol.manifest import (
    Manifest,
)
from protocol.receipt import Tick
from protocol.record import Record
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.types import ZERO
from tests.verification.manifests import digest_of, small_manifest
from verification.releases import first_network
from verification.state import LogState


class RunLog:
    """One run's entries and state. Attributes are plain: look at them, and append whatever a test needs."""

    def __init__(
        self,
        manifest: Manifest | None = None,
        verifiers: int = 1,
        word: str = "d",
        kernel: Kernel = Kernel.BEST,
        verifier_kernel: Kernel = Kernel.BEST,
    ) -> None:
        self.word = word
        self.kernel = kernel
        self.verifier_kernel = verifier_kernel
        self.root_key = self.key("root")
        self.coordinator = self.key("coordinator")
        self.verifiers = [self.key(f"verifier {number}") for number in range(verifiers)]
        self.peers: dict[str, SecretKey] = {}
        self.root = Root(
            run=ZERO,
            version=1,
            threshold=1,
            keys=(self.root_key.public,),
            roles=(
                Role(COORDINATOR, self.coordinator.public, "coordinator"),
                *(Role(VERIFIER, key.public, f"verifier-{n}") for n, key in enumerate(self.verifiers)),
            ),
            witness_threshold=verifiers // 2 + 1 if verifiers else 0,
        )
        self.manifest = manifest or small_manifest()
        self.run = seeds.run_id(self.root.encode(), self.manifest.encode())
        self.state = LogState(self.run)
        self.entries: list[bytes] = []
        self.blobs: dict[bytes, bytes] = {}
        self.networks: dict[bytes, bytes] = {}
        self.epoch = dict.fromkeys((key.public for key in self.verifiers), -1)
        self.log(self.root, self.root_key)
        self.log(self.manifest, self.root_key)
        first = first_network(self.manifest, self.state.manifest_digest)
        if first is not None:
            self.networks[sha256(first).digest()] = first
        for key in self.verifiers:
            self.begin_epoch(key)
        if verifiers:
            self.share_set()

    # ---- keys and entries

    def key(self, name: str) -> SecretKey:
        """The key of `name`."""
        return SecretKey(digest_of(f"{self.word} key {name}"))

    def secret(self, verifier: SecretKey, epoch: int) -> bytes:
        """A verifier's secret of an epoch."""
        return digest_of(f"{self.word} secret {verifier.public.hex()} {epoch}")

    def log(self, record: Record, *signers: SecretKey) -> int:
        """Seals, applies and keeps a record; gives its index."""
        return self.log_bytes(record.seal(*signers).encode())

    def log_bytes(self, data: bytes) -> int:
        """Applies and keeps an entry's bytes; gives its index."""
        self.state.apply(data)
        self.entries.append(data)
        return self.state.size - 1

    def entry(self, index: int) -> bytes:
        """The bytes of an entry."""
        return self.entries[index]

    def begin_epoch(self, verifier: SecretKey) -> int:
        """Logs the hash of a verifier's next epoch."""
        epoch = self.epoch[verifier.public] = self.epoch[verifier.public] + 1
        secret_hash = seeds.epoch_hash(self.run, verifier.public, epoch, self.secret(verifier, epoch))
        return self.log(EpochHash(self.run, verifier.public, epoch, secret_hash), verifier)

    def reveal(self, verifier: SecretKey, epoch: int) -> int:
        """Logs the reveal of a verifier's epoch."""
        return self.log(EpochReveal(self.run, verifier.public, epoch, self.secret(verifier, epoch)), verifier)

    def share(self, verifier: SecretKey, size: int) -> Envelope:
        """A verifier's share for the tree of `size`."""
        root = self.state.tree.root(size)
        info = self.state.epochs.at(verifier.public, size)
        assert info is not None
        word = seeds.beacon_share(self.secret(verifier, info.epoch), self.run, size, root)
        return Share(self.run, verifier.public, info.epoch, size, root, word).seal(verifier)

    def share_set(self, verifiers: Iterable[SecretKey] | None = None) -> int:
        """Logs a share set for the tree as it is."""
        size = self.state.size
        keys = sorted(self.verifiers if verifiers is None else verifiers, key=lambda key: key.public)
        shares = tuple(self.share(key, size).encode() for key in keys)
        covered = self.state.beacons.covered
        return self.log(ShareSet(self.run, size, self.state.tree.root(), covered, shares), self.coordinator)

    def ticks(self, count: int) -> None:
        """Logs ticks."""
        for _ in range(count):
            self.log(Tick(self.run, self.state.size, 0), self.coordinator)
