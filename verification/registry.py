"""Contributors: who registered, and with which join nonce.

Spec: `docs/spec/registration.md`. The first registration of a key wins; an invite opens the door once. Without one
`verification.slots` opens it.
"""

from dataclasses import dataclass

from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.merkle import Tree
from protocol.recovery import KeyReplacement
from protocol.registration import Invite, Registration
from protocol.root import COORDINATOR
from protocol.seeds import join_nonce
from verification.beacons import Beacons
from verification.faults import LogFault, NotYet
from verification.roles import Change, Roles


@dataclass(frozen=True, slots=True)
class RegistrationInfo:
    """A registration, or the replacement of a key that is one too, and where it is logged."""

    index: int
    record: Registration | KeyReplacement


class Registry:
    """All registrations and invites used."""

    def __init__(self, roles: Roles, beacons: Beacons, tree: Tree) -> None:
        self._roles = roles
        self._beacons = beacons
        self._tree = tree
        self._peers: dict[bytes, RegistrationInfo] = {}
        self._nonces: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._lost: dict[bytes, int] = {}
        self._successors: dict[bytes, bytes] = {}

    @property
    def peers(self) -> tuple[bytes, ...]:
        """Registered keys in log order."""
        return tuple(self._peers)

    def find(self, peer: bytes) -> RegistrationInfo | None:
        """The registration of `peer`."""
        return self._peers.get(peer)

    def join_nonce(self, peer: bytes) -> bytes | None:
        """What enters all seeds of `peer`; None while it is not registered or the beacon is not made."""
        nonce = self._nonces.get(peer)
        if nonce is None:
            info = self._peers.get(peer)
            value = self._beacons.value(info.index) if info is not None else None
            if value is None:
                return None
            nonce = self._nonces[peer] = join_nonce(self._roles.run, peer, value)
        return nonce

    def change_registration(self, entry: Entry, record: Registration, index: int) -> Change:
        """Checks a registration, but for the stamp and slot of one without an invite; raises LogFault."""
        if entry.signers != (record.peer,):
            raise LogFault("The registration is not signed by the key that it registers.")
        if record.peer in self._peers:
            raise LogFault("This key is registered already.")
        if self._roles.root_at(index).find(record.peer) is not None:
            raise LogFault("A key with a role cannot register as a contributor.")
        if record.log_size > index:
            raise NotYet("The registration names a checkpoint that this log does not reach.")
        if not record.log_size or self._tree.root(record.log_size) != record.root_hash:
            raise LogFault("The registration names a checkpoint that is not of this log.")
        if record.invite:
            nonce: bytes | None = self._check_invite(record, index)
        elif self._roles.manifest.admission.registration == "invite":
            raise LogFault("This run takes registrations by invite only, and the registration has none.")
        else:
            nonce = None  # its stamp and slot are for `verification.slots` to check

        def change() -> None:
            self._peers[record.peer] = RegistrationInfo(index, record)
            if nonce is not None:
                self._used.add(nonce)

        return change

    def successor(self, peer: bytes) -> bytes | None:
        """The key that goes on for `peer`, if it was replaced."""
        return self._successors.get(peer)

    def replace(self, record: KeyReplacement, index: int) -> None:
        """A checked replacement is logged at `index`."""
        self._peers[record.replacement] = RegistrationInfo(index, record)
        self._successors[record.peer] = record.replacement

    def has_lost_slot(self, peer: bytes) -> bool:
        """Whether `peer` registered with a stamp and then sent no batch in time."""
        return peer in self._lost

    def lose_slot(self, peer: bytes, index: int) -> None:
        """`peer` sent no batch before the entry at `index`; it may send none any more."""
        self._lost[peer] = index

    def _check_invite(self, record: Registration, index: int) -> bytes:
        if record.stamp:
            raise LogFault("A registration has an invite or a stamp, not both.")
        try:
            envelope = Envelope.parse(record.invite)
            invite = Invite.open(envelope)
        except ProtocolError as error:
            raise LogFault(f"The invite is wrong: {error}") from error
        role = self._roles.role_of(envelope.signers[0], index) if len(envelope.signers) == 1 else None
        if role is None or role.role != COORDINATOR:
            raise LogFault("The invite is not signed by this run's coordinator.")
        if invite.run != record.run:
            raise LogFault("The invite is for another run.")
        if invite.last_index < index:
            raise LogFault(f"The invite ended with log entry {invite.last_index}.")
        if invite.nonce in self._used:
            raise LogFault("The invite is used already.")
        return invite.nonce
