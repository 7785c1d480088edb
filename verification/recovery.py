"""Key replacements: a contributor goes on under a new key after the old one was stolen or lost.

Spec: `docs/spec/recovery.md`. Invariants: a key is replaced once, by who holds the recovery key whose hash it registered;
the history stays; what the old key signed from the stated index on is in no later window, earns nothing and convicts
nobody, and where there is any of it the new key begins its probation anew.
"""

from hashlib import sha256

from protocol.entries import Entry
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from verification.batches import Batches
from verification.convictions import Convictions
from verification.faults import LogFault
from verification.registry import Registry
from verification.ringers import Ringers
from verification.roles import Change, Roles
from verification.slots import Slots


class Recovery:
    """All key replacements of the log."""

    def __init__(
        self,
        roles: Roles,
        registry: Registry,
        convictions: Convictions,
        batches: Batches,
        slots: Slots,
        ringers: Ringers,
    ) -> None:
        self._roles = roles
        self._registry = registry
        self._convictions = convictions
        self._batches = batches
        self._slots = slots
        self._ringers = ringers

    def change_replacement(self, entry: Entry, record: KeyReplacement, index: int) -> Change:
        """Checks a replacement; raises LogFault."""
        if sorted(entry.signers) != sorted((record.recovery, record.replacement)):
            raise LogFault("A key replacement is signed by the recovery key and the new key.")
        info = self._registry.find(record.peer)
        if info is None:
            raise LogFault("The key to replace is not registered.")
        if self._registry.successor(record.peer) is not None:
            raise LogFault("This key is replaced already.")
        if self._ringers.find(record.peer) is not None:
            raise LogFault("The key to replace was a ringer's.")
        known = info.record.recovery_hash if isinstance(info.record, Registration) else b""
        if known != sha256(record.recovery).digest():
            raise LogFault("The key to replace was not registered with this recovery key.")
        if self._registry.find(record.replacement) is not None:
            raise LogFault("The new key is registered already.")
        if self._roles.root_at(index).find(record.replacement) is not None:
            raise LogFault("A key with a role cannot register as a contributor.")
        if record.invalid_from > index:
            raise LogFault("The replacement is from an entry on that is not logged yet.")
        proved = self._convictions.proved_at(record.peer)
        if proved is not None and proved < record.invalid_from:
            raise LogFault("The key to replace is banned for a batch that was its owner's.")
        if self._batches.was_wrong_before(record.peer, record.invalid_from):
            raise LogFault("The key to replace has a wrong batch that was its owner's.")

        def change() -> None:
            self._registry.replace(record, index)
            self._slots.replace(record.peer, record.replacement, index)
            self._batches.replace(record, index)

        return change
