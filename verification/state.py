"""The state of a run as its log alone gives it: what every node believes, and the only gate to the log.

Spec: `docs/spec/log.md`. Trust rules, in order: an entry is canonical and its signatures hold; it names this run; its
signer may say this at this index; it fits what was logged before. The coordinator applies an entry before it appends it,
every other node applies what it pulls; whoever applies the same entries has the same state. No clock: all timeouts count
in entries.
"""

from collections.abc import Callable
from dataclasses import dataclass

from protocol.admission import Admission
from protocol.entries import Entry, parse_entry
from protocol.epoch import EpochHash, EpochReveal, ShareSet
from protocol.errors import ProtocolError
from protocol.fills import FillAssignment
from protocol.gate import GateAssignment, GateRecord, GateResult
from protocol.header import BatchHeader
from protocol.manifest import Manifest
from protocol.merkle import Tree
from protocol.orders import Exit, Scrutiny, VoidEpoch
from protocol.proof import VERIFIER, Ban, FraudProof, Pardon
from protocol.receipt import Tick
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from protocol.release import Release
from protocol.ringer import RingerHash, RingerReveal
from protocol.root import Role, Root
from protocol.slots import SlotList
from protocol.statement.record import ReleaseStatement
from protocol.types import ZERO
from protocol.verdict import TraceOpening, Verdict
from protocol.window import GivenUpCycle, TrainRecord, WindowCommitment
from verification.batches import Batches
from verification.beacons import Beacons
from verification.convictions import Convictions
from verification.cycles import Cycles, GivenUpInfo, TrainingInfo, WindowInfo
from verification.decisions import Due
from verification.epochs import Epochs
from verification.faults import LogFault
from verification.fills import Fills
from verification.gate_state import GateResultInfo
from verification.gates import Gates
from verification.identities import BatchInfo
from verification.rechecks import Rechecks
from verification.recovery import Recovery
from verification.registry import RegistrationInfo, Registry
from verification.releases import ReleaseInfo, Releases
from verification.ringers import Ringers
from verification.roles import Change, Roles
from verification.root_versions import RootVersions
from verification.slots import Slots
from verification.statements import Statements
from verification.subjects import BatchSubject, Subjects, require_drawn


@dataclass(frozen=True, slots=True)
class TrustFault:
    """What a reveal showed about a trusted member: `verifier` said something that its own secret contradicts."""

    verifier: bytes
    index: int
    reason: str


class LogState:
    """The state after `size` entries. The parts are public to read and change only through `apply`."""

    def __init__(self, run: bytes) -> None:
        self.run = run
        self.tree = Tree()
        self.roles = Roles(run)
        self.epochs = Epochs(self.roles)
        self.beacons = Beacons(self.roles, self.epochs, self.tree)
        self.registry = Registry(self.roles, self.beacons, self.tree)
        self.convictions = Convictions(self.roles, self.tree)
        self.subjects = Subjects(self.roles, self.epochs, self.beacons)
        self.releases = Releases(self.roles)
        self.batches = Batches(self.roles, self.registry, self.convictions, self.releases, self.subjects)
        self.rechecks = Rechecks(self.roles, self.epochs, self.beacons, self.convictions, self.subjects, self.batches)
        self.ringers = Ringers(self.roles, self.convictions, self.batches)
        self.slots = Slots(self.roles, self.beacons, self.registry, self.batches)
        self.recovery = Recovery(self.roles, self.registry, self.convictions, self.batches, self.slots, self.ringers)
        self.fills = Fills(self.roles, self.beacons, self.registry, self.releases, self.batches)
        self.cycles = Cycles(self.roles, self.beacons, self.batches, self.releases)
        self.gates = Gates(
            self.roles, self.registry, self.convictions, self.beacons, self.releases, self.cycles, self.subjects
        )
        self.statements = Statements(self.roles, self.cycles, self.gates)
        self.faults: list[TrustFault] = []

    # ---- entries

    def check(self, data: bytes) -> Entry:
        """The parsed entry if it may be logged next; raises LogFault without any change."""
        return self._judge(data)[0]

    def apply(self, data: bytes, *, is_verified: bool = False, keep: Callable[[], object] = lambda: None) -> Entry:
        """Checks an entry, changes the state by it and adds it to the tree; raises LogFault without any change.

        `is_verified`: its signatures are known to hold. `keep` is called once it is found good, before the first change.
        """
        entry, change = self._judge(data, is_verified)
        keep()
        change()
        self.tree.append(data)
        self.slots.settle(self.size)
        self.fills.settle(self.size)
        self.rechecks.settle(self.size)
        return entry

    # ---- questions

    @property
    def size(self) -> int:
        """The number of entries, which is the next entry's index."""
        return self.tree.size

    @property
    def root(self) -> Root:
        """The newest root version."""
        return self.roles.root

    @property
    def roots(self) -> RootVersions:
        """All root versions, with where they are logged."""
        return self.roles.roots

    @property
    def root_digest(self) -> bytes:
        """SHA-256 of the newest root version's payload."""
        return self.roles.root_digest

    @property
    def manifest(self) -> Manifest:
        """The newest manifest version."""
        return self.roles.manifest

    @property
    def manifest_digest(self) -> bytes:
        """SHA-256 of the newest manifest version's payload."""
        return self.roles.manifest_digest

    @property
    def release(self) -> ReleaseInfo:
        """The newest release."""
        return self.releases.newest

    @property
    def previous_release(self) -> ReleaseInfo | None:
        """The release before the newest."""
        return self.releases.previous

    def release_by_id(self, release_id: bytes) -> ReleaseInfo | None:
        """A release by its id."""
        return self.releases.find(release_id)

    def release_manifest(self, release: ReleaseInfo) -> Manifest:
        """The manifest version that a release's games follow."""
        return self.roles.manifest_by_digest(release.manifest) or self.manifest

    def role_of(self, key: bytes, index: int | None = None) -> Role | None:
        """The role of `key` for an entry at `index` (the next one by default)."""
        return self.roles.role_of(key, self.size if index is None else index)

    def verifiers(self, index: int | None = None) -> tuple[Role, ...]:
        """The roles of verifiers that are valid for an entry at `index` (the next one by default)."""
        return self.roles.verifiers(self.size if index is None else index)

    def beacon(self, index: int) -> bytes | None:
        """The beacon of a log index, or None while no full share set covers it."""
        return self.beacons.value(index)

    def join_nonce(self, peer: bytes) -> bytes | None:
        """What enters all seeds of `peer`, once it is registered and the beacon is made."""
        return self.registry.join_nonce(peer)

    def is_banned(self, key: bytes) -> bool:
        """Whether a ban of `key` is logged."""
        return self.convictions.is_banned(key)

    def next_counter(self, owner: bytes, release: bytes) -> int:
        """The first counter that the log does not hold for (owner, release)."""
        return self.batches.series(owner, release).next_counter

    def batch(self, index: int) -> BatchInfo | None:
        """The batch whose header is logged at `index`."""
        return self.batches.find(index)

    def batches_awaiting_verdict(self, verifier: bytes) -> list[BatchSubject]:
        """Batches, and orders to look at one again, that `verifier` may judge in the next entry."""
        return self.batches.awaiting_verdict(verifier, self.size)

    def due_decisions(self) -> list[Due]:
        """The decisions that the next entry may hold."""
        return self.batches.due(self.size)

    def gate_results_awaiting_verdict(self, verifier: bytes) -> list[GateResultInfo]:
        """Gate results that `verifier` may judge in the next entry."""
        return self.gates.awaiting_verdict(verifier, self.size)

    def registration(self, peer: bytes) -> RegistrationInfo | None:
        """Where and how `peer` registered."""
        return self.registry.find(peer)

    def manifest_by_digest(self, digest: bytes) -> Manifest:
        """A logged manifest version; LogFault for a digest that the log does not hold."""
        found = self.roles.manifest_by_digest(digest)
        if found is None:
            raise LogFault(f"The log has no manifest {digest.hex()[:16]}.")
        return found

    @property
    def released_rows(self) -> int:
        """Rows of all batches released to training."""
        return self.cycles.released_rows

    @property
    def windows(self) -> list[WindowInfo]:
        """All committed windows."""
        return self.cycles.windows

    @property
    def trainings(self) -> list[TrainingInfo]:
        """All train records."""
        return self.cycles.trainings

    @property
    def given_up(self) -> list[GivenUpInfo]:
        """All cycles that ended without a candidate."""
        return self.cycles.given_up

    @property
    def untrained_window(self) -> WindowInfo | None:
        """The window whose training is not logged yet, nor given up."""
        return self.cycles.untrained

    def candidate(self, index: int) -> TrainingInfo:
        """The training logged at an index; LogFault for another index."""
        found = self.cycles.training_at(index)
        if found is None:
            raise LogFault(f"Entry {index} is not a train record.")
        return found

    def due_window(self) -> WindowInfo | None:
        """The window that the next entry may commit to, or None while none is due."""
        return None if self._is_release_due else self.cycles.due_window(self.size)

    def gate_assignments(self, player: bytes) -> list[tuple[int, GateAssignment]]:
        """Gate pairs that `player` has to play, each assignment with its log index."""
        return self.gates.assignments(player, self.size)

    def next_gate_assignment(self, player: bytes) -> GateAssignment | None:
        """Gate pairs to give to `player` in the next entry; None while it has some or none are left."""
        return self.gates.next_assignment(player, self.size)

    def active_players(self) -> tuple[bytes, ...]:
        """Contributors in good standing that were heard of within the last `timeout_entries` entries."""
        return self.batches.active_players(self.size)

    def due_gate_record(self) -> GateRecord | None:
        """The gate record that the next entry may hold."""
        return self.gates.due_record()

    @property
    def passed_gate(self) -> int | None:
        """The log index of the gate record whose candidate is to be released next."""
        gate = self.gates.newest
        return gate.record_index if gate is not None and self._is_release_due else None

    def due_release(self, code_version: str) -> Release | None:
        """The release that the next entry may hold: the newest candidate's, if it passed and is not released yet."""
        gate, passed = self.gates.newest, self.passed_gate
        if gate is None or passed is None:
            return None
        window = self.cycles.windows[-1].record
        return self.releases.propose(gate.index, gate.train, window, passed, code_version)

    @property
    def _is_release_due(self) -> bool:
        gate = self.gates.newest
        passed = gate is not None and gate.record is not None and gate.record.passed
        return passed and gate is not None and self.release.train_record != gate.index

    # ---- dispatch

    def _judge(self, data: bytes, is_verified: bool = False) -> tuple[Entry, Change]:
        try:
            entry = parse_entry(data, is_verified=is_verified)
        except ProtocolError as error:
            raise LogFault(f"The entry is wrong ({error.label}): {error}") from error
        return entry, self._change(entry, self.size)

    def _change(self, entry: Entry, index: int) -> Change:
        record = entry.record
        if index < 2 and not isinstance(record, Manifest if index else Root):
            raise LogFault("A log begins with root version 1 and manifest version 1.")
        is_first = isinstance(record, Root | Manifest) and record.version == 1
        if getattr(record, "run", None) != (ZERO if is_first else self.run):
            raise LogFault(f"The {record.NAME} is for another run.")
        match record:
            case Root():
                return self._change_root(entry, record, index)
            case Manifest():
                return self._change_manifest(entry, record, index)
            case Registration():
                return self._change_registration(entry, record, index)
            case SlotList():
                return self.slots.change_list(entry, record, index)
            case EpochHash():
                return self.epochs.change_hash(entry, record, index)
            case EpochReveal():
                return self._change_reveal(entry, record, index)
            case ShareSet():
                return self._then(self.beacons.change_set(entry, record, index), self._covered)
            case BatchHeader():
                return self._then(
                    self.batches.change_header(entry, record, index), lambda: self.fills.logged(record, index)
                )
            case Verdict():
                return self._change_verdict(entry, record, index)
            case TraceOpening():
                return self._change_opening(entry, record, index)
            case Admission():
                return self.batches.change_admission(entry, record, index)
            case WindowCommitment():
                if self._is_release_due:
                    raise LogFault("The candidate that passed its gate is not released yet.")
                return self.cycles.change_window(entry, record, index)
            case TrainRecord():
                change = self.cycles.change_train(entry, record, index)
                return self._then(change, lambda: self.gates.begin(index, entry.envelope.digest, record))
            case GivenUpCycle():
                return self.cycles.change_given_up(entry, record, index)
            case GateAssignment():
                return self.gates.change_assignment(entry, record, index)
            case GateResult():
                return self.gates.change_result(entry, record, index)
            case GateRecord():
                return self.gates.change_record(entry, record, index)
            case Release():
                due = self.due_release(record.code_version)
                if due is None:
                    raise LogFault("No candidate has passed its gate since the newest release.")
                change = self.releases.change_release(entry, record, due, index)
                return self._then(change, lambda: self.statements.released(record, index))
            case ReleaseStatement():
                return self.statements.change_statement(entry, record, index)
            case Ban():
                return self._change_ban(entry, record, index)
            case KeyReplacement():
                return self.recovery.change_replacement(entry, record, index)
            case Pardon():
                return self.rechecks.change_pardon(entry, record, index)
            case Exit():
                return self.rechecks.change_exit(entry, record, index)
            case VoidEpoch():
                return self.rechecks.change_void(entry, record, index)
            case Scrutiny():
                return self.rechecks.change_scrutiny(entry, record, index)
            case RingerHash():
                return self.ringers.change_hash(entry, record, index)
            case RingerReveal():
                return self.ringers.change_reveal(entry, record, index)
            case FillAssignment():
                return self.fills.change_assignment(entry, record, index)
            case Tick():
                self.roles.require_coordinator(entry, index)
                if record.log_size != index:
                    raise LogFault(f"The tick is for a log of {record.log_size} entries, not {index}.")
                return lambda: None
        raise LogFault(f"The log cannot hold a {record.NAME} yet.")

    def _change_root(self, entry: Entry, record: Root, index: int) -> Change:
        """A root version; verdicts that it calls invalid from an earlier index on are judged anew."""
        change = self.roles.change_root(entry, record, index)
        before = self.roles.root if record.version > 1 else None

        def doubt() -> None:
            for role in record.verifiers:
                known = None if before is None else before.find(role.key)
                if known is not None and role.invalid_from < min(index, known.invalid_from):
                    self.rechecks.doubt(role.key, role.invalid_from, index)

        return self._then(change, doubt)

    def _change_ban(self, entry: Entry, record: Ban, index: int) -> Change:
        change = self.convictions.change_ban(entry, record, index)
        proof = FraudProof.parse(record.proof)
        self.ringers.check_proof(proof)
        is_verifier = proof.accused == VERIFIER

        def out() -> None:
            if is_verifier:
                self.rechecks.convict(record.subject, index)
            else:
                self.batches.ban(record.subject, index)

        return self._then(change, out)

    def _covered(self) -> None:
        """A share set is logged: what it covers gets its verifiers, and reveals their repeats."""
        for subject in self.subjects.assign():
            if isinstance(subject, BatchInfo):
                self.batches.assigned(subject)
        self.rechecks.pick()

    def _change_registration(self, entry: Entry, record: Registration, index: int) -> Change:
        change = self.registry.change_registration(entry, record, index)
        if record.invite:
            return change
        return self._then(change, self.slots.change_registration(entry, record, index))

    def _change_manifest(self, entry: Entry, record: Manifest, index: int) -> Change:
        change = self.roles.change_manifest(entry, record, index)
        if record.version > 1:
            return self._then(change, lambda: self.convictions.alarm.clear(index))
        return self._then(change, lambda: self.releases.begin(record, entry.envelope.digest, index))

    def _change_verdict(self, entry: Entry, record: Verdict, index: int) -> Change:
        self.roles.require_verifier(entry, record.verifier, index)
        subject = self.subjects.check_verdict(record, index)
        if isinstance(subject, BatchSubject):
            epoch = self.epochs.find(record.verifier, record.epoch)
            if epoch is not None and epoch.secret is not None:  # no reveal will show another draw
                require_drawn(record, subject.draw(epoch.secret))
            change = self.batches.change_verdict(subject, record, index)
            return self._then(change, lambda: self.rechecks.judged(subject, index))
        if isinstance(subject, GateResultInfo):
            return self.gates.change_verdict(subject, record, index)
        raise LogFault("The verdict's subject is neither a batch nor a gate result.")

    def _change_opening(self, entry: Entry, record: TraceOpening, index: int) -> Change:
        self.roles.require_verifier(entry, record.verifier, index)
        subject = self.subjects.check_opening(record)
        plies = subject.header.plies if isinstance(subject, BatchSubject) else record.plies
        if subject.is_accepted and subject.drew_all and record.plies != plies:
            raise LogFault(f"All {plies} plies were drawn, but {record.plies} traces are opened.")

        def change() -> None:
            subject.opening = record
            if isinstance(subject, GateResultInfo):
                self.gates.opened(subject)

        return change

    def _change_reveal(self, entry: Entry, record: EpochReveal, index: int) -> Change:
        epoch = self.epochs.check_reveal(entry, record, index)
        if self.rechecks.is_void(epoch):
            raise LogFault(f"Epoch {record.epoch} is void; its reveal comes too late.")
        unjudged = self.batches.unjudged(record.verifier, record.epoch)
        if unjudged:
            raise LogFault(f"Epoch {record.epoch} still has to draw from the batch at entry {unjudged[0].index}.")
        name = record.verifier.hex()[:16]
        wrong = self.batches.false_draws(record.verifier, record.epoch, record.secret)
        faults = [
            f"Verifier {name} gave a false beacon share for tree size {size}."
            for size in self.beacons.false_shares(epoch, record.secret)
        ] + [
            f"Verifier {name} replayed other games of the batch at entry {look.index} than its secret draws."
            for look in wrong
        ]

        def change() -> None:
            epoch.secret, epoch.revealed_at = record.secret, index
            self.rechecks.revealed(epoch)
            if faults:
                self.faults += [TrustFault(record.verifier, index, reason) for reason in faults]
                self.rechecks.doubt(
                    record.verifier, min(look.verdict_index for look in wrong) if wrong else index, index
                )

        return change

    @staticmethod
    def _then(change: Change, after: Change) -> Change:
        def both() -> None:
            change()
            after()

        return both
