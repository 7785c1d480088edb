"""Beacons: the unpredictable value of a log index, from the share sets that the log holds.

Spec: `docs/spec/beacon.md`. The beacon of index i comes from the first logged set of at least `witness_threshold` shares
whose tree covers i. Whether the shares are the HMACs that they should be shows at the reveal of their epochs.
"""

from bisect import bisect_right
from dataclasses import dataclass

from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.epoch import Share, ShareSet
from protocol.errors import ProtocolError
from protocol.merkle import Tree
from protocol.seeds import beacon, beacon_share
from verification.epochs import EpochInfo, Epochs
from verification.faults import LogFault
from verification.roles import Change, Roles


@dataclass(frozen=True, slots=True)
class BeaconInfo:
    """A beacon's value and the log index of the share set that made it."""

    value: bytes
    size: int
    set_index: int


class Beacons:
    """All share sets of the log."""

    def __init__(self, roles: Roles, epochs: Epochs, tree: Tree) -> None:
        self._roles = roles
        self._epochs = epochs
        self._tree = tree
        self._sizes: list[int] = []
        self._beacons: list[BeaconInfo] = []
        self._shares: dict[tuple[bytes, int], list[Share]] = {}
        self._shared: set[tuple[bytes, int]] = set()
        self.last_size = 0

    @property
    def covered(self) -> int:
        """Entries below this index have a beacon."""
        return self._sizes[-1] if self._sizes else 0

    def find(self, index: int) -> BeaconInfo | None:
        """The beacon of a log index, or None while no full share set covers it."""
        position = bisect_right(self._sizes, index)
        return self._beacons[position] if position < len(self._beacons) else None

    def value(self, index: int) -> bytes | None:
        """The beacon's 32 bytes, or None."""
        found = self.find(index)
        return None if found is None else found.value

    def has_share(self, verifier: bytes, size: int) -> bool:
        """Whether a logged set for the tree of `size` entries holds a share of `verifier`."""
        return (verifier, size) in self._shared

    def change_set(self, entry: Entry, record: ShareSet, index: int) -> Change:
        """Checks a share set; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        if not self.last_size < record.size <= index:
            raise LogFault(f"A share set for tree size {record.size} cannot follow one for {self.last_size} here.")
        if record.previous_size != self.covered:
            raise LogFault(
                f"The last set that made a beacon is for tree size {self.covered}, not {record.previous_size}."
            )
        if self._tree.root(record.size) != record.root_hash:
            raise LogFault(f"The share set names another root hash for tree size {record.size}.")
        shares = [self._check_share(data, entry.is_verified, record, index) for data in record.shares]
        keys = [share.verifier for share in shares]
        if keys != sorted(set(keys)):
            raise LogFault("The shares of a set must be in the order of their verifiers' keys, one a verifier.")
        is_full = len(shares) >= self._roles.root_at(index).witness_threshold > 0 and bool(shares)
        value = beacon(record.run, record.size, record.root_hash, {share.verifier: share.share for share in shares})

        def change() -> None:
            self.last_size = record.size
            for share in shares:
                self._shares.setdefault((share.verifier, share.epoch), []).append(share)
                self._shared.add((share.verifier, share.size))
            if is_full:
                self._sizes.append(record.size)
                self._beacons.append(BeaconInfo(value, record.size, index))

        return change

    def false_shares(self, epoch: EpochInfo, secret: bytes) -> tuple[int, ...]:
        """Tree sizes for which the verifier's shares are not what its revealed secret gives."""
        return tuple(
            share.size
            for share in self._shares.get((epoch.verifier, epoch.epoch), ())
            if share.share != beacon_share(secret, share.run, share.size, share.root_hash)
        )

    def _check_share(self, data: bytes, is_verified: bool, record: ShareSet, index: int) -> Share:
        try:
            envelope = Envelope.parse(data)
            share = Share.open(envelope, is_verified=is_verified)
        except ProtocolError as error:
            raise LogFault(f"A share of the set is wrong: {error}") from error
        if (share.run, share.size, share.root_hash) != (record.run, record.size, record.root_hash):
            raise LogFault("A share of the set is for another tree.")
        if envelope.signers != (share.verifier,) or all(
            role.key != share.verifier for role in self._roles.verifiers(index)
        ):
            raise LogFault("A share of the set is not signed by the verifier that it names.")
        epoch = self._epochs.at(share.verifier, share.size)
        if epoch is None or epoch.epoch != share.epoch:
            raise LogFault("A share of the set is not made under its verifier's epoch in that tree.")
        return share
