"""Verifiers' epochs: which secret draws the games of a batch, and what its reveal shows.

Spec: `docs/spec/epoch.md`. A verifier's epoch begins with the entry after its hash and ends with the next hash or with its
own reveal. A header belongs to the newest epoch begun before it.
"""

from dataclasses import dataclass

from protocol.entries import Entry
from protocol.epoch import EpochHash, EpochReveal
from protocol.seeds import epoch_hash
from verification.faults import LogFault
from verification.roles import Change, Roles


@dataclass(slots=True)
class EpochInfo:
    """An epoch as logged: its hash at `index`; `secret` and `revealed_at` once it is revealed."""

    verifier: bytes
    epoch: int
    secret_hash: bytes
    index: int
    secret: bytes | None = None
    revealed_at: int | None = None

    def is_open_at(self, index: int) -> bool:
        """Whether its secret was committed and not yet known when entry `index` was logged."""
        return self.index < index and (self.revealed_at is None or self.revealed_at >= index)


class Epochs:
    """All epochs of all verifiers."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._epochs: dict[bytes, list[EpochInfo]] = {}

    @property
    def verifiers(self) -> tuple[bytes, ...]:
        """Every verifier that ever committed to a secret."""
        return tuple(self._epochs)

    def all(self, verifier: bytes) -> tuple[EpochInfo, ...]:
        """The verifier's epochs in order."""
        return tuple(self._epochs.get(verifier, ()))

    def newest(self, verifier: bytes) -> EpochInfo | None:
        """The verifier's last logged epoch."""
        epochs = self._epochs.get(verifier)
        return epochs[-1] if epochs else None

    def at(self, verifier: bytes, index: int) -> EpochInfo | None:
        """The epoch that an entry at `index` belongs to: the newest one begun before it, unless revealed by then."""
        for epoch in reversed(self._epochs.get(verifier, ())):
            if epoch.index < index:
                return epoch if epoch.is_open_at(index) else None
        return None

    def find(self, verifier: bytes, epoch: int) -> EpochInfo | None:
        """The verifier's epoch with this number."""
        epochs = self._epochs.get(verifier, [])
        return epochs[epoch] if epoch < len(epochs) else None

    def change_hash(self, entry: Entry, record: EpochHash, index: int) -> Change:
        """Checks an epoch's hash; raises LogFault."""
        self._roles.require_verifier(entry, record.verifier, index)
        epochs = self._epochs.get(record.verifier, [])
        if record.epoch != len(epochs):
            raise LogFault(f"The verifier's next epoch is {len(epochs)}, not {record.epoch}.")
        if any(known.secret_hash == record.secret_hash for known in epochs):
            raise LogFault("The verifier committed to this secret before.")
        info = EpochInfo(record.verifier, record.epoch, record.secret_hash, index)
        return lambda: self._epochs.setdefault(record.verifier, []).append(info)

    def check_reveal(self, entry: Entry, record: EpochReveal, index: int) -> EpochInfo:
        """The epoch that a reveal opens; raises LogFault unless its secret is the committed one."""
        self._roles.require_verifier(entry, record.verifier, index)
        epoch = self.find(record.verifier, record.epoch)
        if epoch is None:
            raise LogFault(f"The verifier has no epoch {record.epoch} to reveal.")
        if epoch.secret is not None:
            raise LogFault(f"Epoch {record.epoch} is revealed already.")
        if epoch_hash(record.run, record.verifier, record.epoch, record.secret) != epoch.secret_hash:
            raise LogFault(f"The revealed secret is not the one that epoch {record.epoch} committed to.")
        return epoch
