"""A verifier's secrets: the hash logged before an epoch, the secret revealed after it, the beacon shares made under it.

Spec: `docs/spec/epoch.md`, `docs/spec/beacon.md`. The secret decides which games are drawn for replay; its hash is logged
first, so that neither side can choose.
"""

from dataclasses import dataclass

from protocol.record import Record
from protocol.types import U32, U64, Digest, EntryBytes, Key


@dataclass(frozen=True, slots=True)
class EpochHash(Record):
    """Commits `verifier` to the secret of `epoch`."""

    NAME = "epoch-hash"

    run: Digest
    verifier: Key
    epoch: U32
    secret_hash: Digest


@dataclass(frozen=True, slots=True)
class EpochReveal(Record):
    """Opens the commitment after the epoch's end."""

    NAME = "epoch-reveal"

    run: Digest
    verifier: Key
    epoch: U32
    secret: Digest


@dataclass(frozen=True, slots=True)
class Share(Record):
    """A verifier's part of the beacon for one tree: HMAC of (run, size, root hash) under its newest logged epoch."""

    NAME = "share"

    run: Digest
    verifier: Key
    epoch: U32
    size: U64
    root_hash: Digest
    share: Digest


@dataclass(frozen=True, slots=True)
class ShareSet(Record):
    """All shares for one tree, as envelopes in the order of their verifiers' keys; logged by the coordinator.

    `previous_size` is the tree size of the last set that made a beacon (0: none), so that this set alone shows which
    log indices it is the first to cover: `previous_size` up to `size`.
    """

    NAME = "share-set"

    run: Digest
    size: U64
    root_hash: Digest
    previous_size: U64
    shares: tuple[EntryBytes, ...]
