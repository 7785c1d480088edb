"""Contributors: who registered, with which join nonce, and who is banned.

Spec: `docs/spec/registration.md`. The first registration of a key wins; an invite opens the door once.
"""

from dataclasses import dataclass

from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.header import BatchHeader
from protocol.merkle import Tree, leaf_hash
from protocol.proof import CONTRIBUTOR, Ban, FraudProof, LoggedEntry
from protocol.record import Record
from protocol.registration import Invite, Registration
from protocol.root import COORDINATOR
from protocol.seeds import join_nonce
from protocol.verdict import Verdict
from verification.beacons import Beacons
from verification.faults import LogFault, NotYet
from verification.roles import Change, Roles


@dataclass(frozen=True, slots=True)
class RegistrationInfo:
    """A registration and where it is logged."""

    index: int
    record: Registration


class Registry:
    """All registrations, invites used, and bans."""

    def __init__(self, roles: Roles, beacons: Beacons, tree: Tree) -> None:
        self._roles = roles
        self._beacons = beacons
        self._tree = tree
        self._peers: dict[bytes, RegistrationInfo] = {}
        self._nonces: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._banned: dict[bytes, int] = {}

    @property
    def peers(self) -> tuple[bytes, ...]:
        """Registered keys in log order."""
        return tuple(self._peers)

    @property
    def banned(self) -> tuple[bytes, ...]:
        """Banned keys in log order."""
        return tuple(self._banned)

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

    def is_banned(self, key: bytes) -> bool:
        """Whether a ban of `key` is logged."""
        return key in self._banned

    def banned_at(self, key: bytes) -> int:
        """The log index of the ban of `key`; KeyError without one."""
        return self._banned[key]

    def change_registration(self, entry: Entry, record: Registration, index: int) -> Change:
        """Checks a registration; raises LogFault."""
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
        nonce = self._check_invite(record, index)

        def change() -> None:
            self._peers[record.peer] = RegistrationInfo(index, record)
            self._used.add(nonce)

        return change

    def change_ban(self, entry: Entry, record: Ban, index: int) -> Change:
        """Checks who is banned and that the proof names a logged signature of theirs; raises LogFault.

        That the proof proves is for `verification.proof`, which needs the network's file; an audit asks it of every ban.
        """
        self._roles.require_coordinator(entry, index)
        if record.subject in self._banned:
            raise LogFault("This key is banned already.")
        try:
            proof = FraudProof.parse(record.proof)
        except ProtocolError as error:
            raise LogFault(f"The ban's proof is wrong: {error}") from error
        if proof.run != record.run:
            raise LogFault("The ban's proof is of another run.")
        if proof.accused == CONTRIBUTOR:
            header = self._logged(proof.header, BatchHeader)
            guilty = header.peer if isinstance(header, BatchHeader) else b""
        else:
            verdict = self._logged(proof.verdict[0], Verdict) if proof.verdict else None
            guilty = verdict.verifier if isinstance(verdict, Verdict) else b""
        if guilty != record.subject:
            raise LogFault("The ban's proof is against somebody else.")
        return lambda: self._banned.__setitem__(record.subject, index)

    def _logged(self, item: LoggedEntry, cls: type[Record]) -> Record:
        if item.index >= self._tree.size or self._tree.node(0, item.index) != leaf_hash(item.entry):
            raise LogFault("The ban's proof rests on an entry that is not in this log.")
        try:
            return cls.open(Envelope.parse(item.entry))
        except ProtocolError as error:
            raise LogFault(f"The ban's proof is wrong: {error}") from error

    def _check_invite(self, record: Registration, index: int) -> bytes:
        if not record.invite:
            if self._roles.manifest.admission.registration == "invite":
                raise LogFault("This run takes registrations by invite only, and the registration has none.")
            raise LogFault("Registration by stamp is not available yet; register with an invite.")
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
