"""What is proved against whom: bans of contributors and verifiers, and wrong plies that are forgiven.

Spec: `docs/spec/proof.md`. The state sees that a proof rests on this log and on words of whom it is against. That these are
wrong is for `verification.proof`, which needs the network's file: the coordinator asks it before a ban, an audit of each.
"""

from collections.abc import Mapping
from types import MappingProxyType

from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.errors import ProtocolError
from protocol.header import BatchHeader
from protocol.merkle import Tree, leaf_hash
from protocol.proof import CONTRIBUTOR, PLY, Ban, FraudProof, LoggedEntry, Pardon
from protocol.record import Record
from protocol.verdict import Verdict
from verification.alarm import Alarm
from verification.faults import LogFault
from verification.roles import Change, Roles


class Convictions:
    """All bans and pardons of the log."""

    def __init__(self, roles: Roles, tree: Tree) -> None:
        self._roles = roles
        self._tree = tree
        self.alarm = Alarm(roles)
        self._banned: dict[bytes, int] = {}
        self._proved: dict[bytes, int] = {}  # banned contributor -> index of the header that proves it
        self._shown: dict[int, int] = {}  # header index -> entry that shows that the batch is wrong
        self._pardoned: dict[int, int] = {}

    @property
    def banned(self) -> tuple[bytes, ...]:
        """Banned keys in log order."""
        return tuple(self._banned)

    @property
    def pardons(self) -> tuple[int, ...]:
        """The log indices of all pardons."""
        return tuple(self._pardoned.values())

    def is_banned(self, key: bytes) -> bool:
        """Whether a ban of `key` is logged."""
        return key in self._banned

    def banned_at(self, key: bytes) -> int:
        """The log index of the ban of `key`; KeyError without one."""
        return self._banned[key]

    def proved_at(self, key: bytes) -> int | None:
        """The log index of the header that a contributor is banned for; None if it is not banned."""
        return self._proved.get(key)

    @property
    def shown(self) -> Mapping[int, int]:
        """The header index of every batch that is shown to be wrong, with that of the entry that shows it."""
        return MappingProxyType(self._shown)

    def is_shown(self, header_index: int) -> bool:
        """Whether a ban, a pardon or a reveal shows that the batch logged there is wrong."""
        return header_index in self._shown

    def is_pardoned(self, header_index: int) -> bool:
        """Whether the batch logged there is wrong, and its contributor is not to blame."""
        return header_index in self._pardoned

    def accuse(self, header: BatchHeader, verdict: Verdict, index: int) -> None:
        """A verdict at `index` accuses a batch's signer."""
        if verdict.evidence == PLY:
            self.alarm.add(header, index)

    def absolve(self, header: BatchHeader) -> None:
        """The verdict fell away."""
        self.alarm.remove(header.peer)

    def show(self, header_index: int, index: int) -> None:
        """The entry at `index` shows that the batch logged at `header_index` is wrong."""
        self._shown.setdefault(header_index, index)

    def forgive(self, header_index: int, index: int) -> None:
        """The entry at `index` shows that a batch is wrong, and that its contributor is not to blame."""
        self.show(header_index, index)
        self._pardoned.setdefault(header_index, index)

    def change_ban(self, entry: Entry, record: Ban, index: int) -> Change:
        """Checks who is banned and that the proof names a logged signature of theirs; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        if record.subject in self._banned:
            raise LogFault("This key is banned already.")
        proof, accused = self._parse(record)
        is_contributor = proof.accused == CONTRIBUTOR
        if is_contributor and self.is_pardoned(proof.header.index):
            raise LogFault("What the ban's proof shows is pardoned.")
        if isinstance(accused, BatchHeader) and proof.kind == PLY:
            paused = self.alarm.reason(accused, index)
            if paused is not None:
                raise LogFault(paused)

        def change() -> None:
            self._banned[record.subject] = index
            if is_contributor:
                self._proved[record.subject] = proof.header.index
                self.show(proof.header.index, index)

        return change

    def check_pardon(self, entry: Entry, record: Pardon, index: int) -> int:
        """The header's index of a pardon that rests on a proof of one wrong ply; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        proof, _ = self._parse(record)
        if proof.accused != CONTRIBUTOR or proof.kind != PLY:
            raise LogFault("Only a wrong ply of a contributor is pardoned.")
        if record.subject in self._banned or self.is_shown(proof.header.index):
            raise LogFault("What the pardon is for is decided already.")
        return proof.header.index

    def _parse(self, record: Ban | Pardon) -> tuple[FraudProof, Record | None]:
        """The proof in a record, and the logged word of the record's subject that it rests on; raises LogFault."""
        name = record.NAME
        try:
            proof = FraudProof.parse(record.proof)
        except ProtocolError as error:
            raise LogFault(f"The {name}'s proof is wrong: {error}") from error
        if proof.run != record.run:
            raise LogFault(f"The {name}'s proof is of another run.")
        for item in proof.logged:
            if item.index >= self._tree.size or self._tree.node(0, item.index) != leaf_hash(item.entry):
                raise LogFault(f"The {name}'s proof rests on an entry that is not in this log.")
        if proof.accused == CONTRIBUTOR:
            said: Record | None = _opened(proof.header, BatchHeader, name)
            guilty = said.peer if isinstance(said, BatchHeader) else b""
        else:
            said = _opened(proof.verdict[0], Verdict, name) if proof.verdict else None
            guilty = said.verifier if isinstance(said, Verdict) else b""
        if guilty != record.subject:
            raise LogFault(f"The {name}'s proof is against somebody else.")
        return proof, said


def _opened(item: LoggedEntry, cls: type[Record], name: str) -> Record:
    try:
        return cls.open(Envelope.parse(item.entry))
    except ProtocolError as error:
        raise LogFault(f"The {name}'s proof is wrong: {error}") from error
