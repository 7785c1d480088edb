"""Gates in the log: pairs given out, results, verdicts on them, and the record that must equal the recount.

Spec: `docs/spec/gate.md`. Invariants: pairs are given out in order and counted in order, whoever finishes first; a pair
counts once its result is accepted by a verifier and the replayed traces are opened; late results change nothing.
"""

from protocol.entries import Entry
from protocol.gate import GateAssignment, GateRecord, GateResult
from protocol.root import COORDINATOR
from protocol.verdict import Verdict
from protocol.window import TrainRecord
from verification.beacons import Beacons
from verification.convictions import Convictions
from verification.cycles import Cycles
from verification.faults import LogFault, NotYet
from verification.gate import Gate, GateDecision, cap_pairs
from verification.gate_state import GateResultInfo, GateState, Slot
from verification.registry import Registry
from verification.releases import Releases
from verification.roles import Change, Roles
from verification.subjects import Subjects, require_drawn

CONFIRM_TIMEOUTS = 3
"""How often the timeout a result waits for a verdict and its traces."""


class Gates:
    """The gates of all candidates, the newest open or decided."""

    def __init__(
        self,
        roles: Roles,
        registry: Registry,
        convictions: Convictions,
        beacons: Beacons,
        releases: Releases,
        cycles: Cycles,
        subjects: Subjects,
    ) -> None:
        self._roles = roles
        self._registry = registry
        self._convictions = convictions
        self._beacons = beacons
        self._releases = releases
        self._cycles = cycles
        self._subjects = subjects
        self.all: list[GateState] = []

    # ---- queries

    @property
    def open(self) -> GateState | None:
        """The gate that has no record yet."""
        return self.all[-1] if self.all and self.all[-1].record is None else None

    @property
    def newest(self) -> GateState | None:
        """The last gate begun."""
        return self.all[-1] if self.all else None

    @property
    def results(self) -> tuple[GateResultInfo, ...]:
        """Every gate result of the log, those that did not count included."""
        return tuple(each for each in self._subjects.all if isinstance(each, GateResultInfo))

    def by_candidate(self, index: int) -> GateState | None:
        """The gate of the candidate whose train record is logged at an index."""
        return next((gate for gate in self.all if gate.index == index), None)

    def refused_since_base(self) -> int:
        """Candidates refused since the newest release."""
        newest = self._releases.newest.id
        return sum(gate.base.id == newest and gate.record is not None and not gate.record.passed for gate in self.all)

    def beacon(self, gate: GateState) -> bytes | None:
        """The beacon of the candidate's entry, which all of the gate's seeds need."""
        return self._beacons.value(gate.index)

    def awaiting_verdict(self, verifier: bytes, index: int) -> list[GateResultInfo]:
        """Results of the open gate that `verifier` may judge in an entry at `index`, in order of pairs."""
        gate = self.open
        results = (slot.result for slot in gate.slots) if gate is not None else ()
        return [
            result for result in results if result is not None and self._subjects.may_judge(result, verifier, index)
        ]

    def assignments(self, player: bytes, index: int) -> list[tuple[int, GateAssignment]]:
        """Assignments that `player` has to play as of entry `index`, each with its log index."""
        gate = self.open
        if gate is None or gate.decision.passed is not None:
            return []
        return [
            (slot.index, slot.assignment)
            for slot in gate.slots
            if slot.assignment.player == player and self._is_out(gate, slot, index)
        ]

    def next_assignment(self, player: bytes, index: int) -> GateAssignment | None:
        """Pairs to give to `player` in an entry at `index`: the first that are free again, else new ones.

        None without an open gate, when it is decided or all pairs are given out, or while the player has pairs to play.
        """
        gate = self.open
        if gate is None or gate.decision.passed is not None or not self._may_play(gate, player, index):
            return None
        if self.assignments(player, index):
            return None
        free = next((slot.assignment for slot in gate.slots if self._is_free(gate, slot, index)), None)
        if free is not None:
            return self._assignment(gate, player, free.first_pair, free.pairs)
        first = gate.assigned_pairs
        pairs = min(gate.manifest.gate.pairs_per_assignment, cap_pairs(gate.manifest.gate) - first)
        return self._assignment(gate, player, first, pairs) if pairs > 0 else None

    def due_record(self) -> GateRecord | None:
        """The record of the open gate, once it is decided."""
        gate = self.open
        if gate is None or gate.decision.passed is None:
            return None
        found = gate.decision
        return GateRecord(
            run=self._roles.run,
            candidate=gate.index,
            base=gate.base.id,
            pairs=found.pairs,
            counts=found.counts,
            llr_micro=found.llr_micro,
            passed=bool(found.passed) or gate.is_forced(),
            refused_since_base=self.refused_since_base(),
        )

    # ---- changes

    def begin(self, index: int, digest: bytes, train: TrainRecord) -> None:
        """The candidate's train record is logged at `index`."""
        manifest = self._roles.manifest
        self.all.append(GateState(index, digest, train, self._releases.newest, manifest, Gate(manifest.gate)))

    def change_assignment(self, entry: Entry, record: GateAssignment, index: int) -> Change:
        """Checks an assignment of pairs; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        gate = self._require_open(record.candidate)
        if record.base != gate.base.id:
            raise LogFault("The assignment's base is not the gate's.")
        if gate.decision.passed is not None:
            raise LogFault("The gate is decided; no more pairs are played.")
        if not self._may_play(gate, record.player, index):
            raise LogFault("Pairs go to the coordinator's player or to a registered contributor in good standing.")
        policy = gate.manifest.gate
        slot = next((slot for slot in gate.slots if slot.assignment.first_pair == record.first_pair), None)
        if slot is not None:
            if slot.assignment.pairs != record.pairs:
                raise LogFault("Pairs are given anew only as they were given before.")
            if not self._is_free(gate, slot, index):
                raise LogFault(f"Pairs from {record.first_pair} are still being played or counted.")
        elif record.first_pair != gate.assigned_pairs:
            raise LogFault(f"The next pair to give out is {gate.assigned_pairs}, not {record.first_pair}.")
        elif not 1 <= record.pairs <= policy.pairs_per_assignment:
            raise LogFault(f"An assignment has from 1 to {policy.pairs_per_assignment} pairs.")
        elif record.first_pair + record.pairs > cap_pairs(policy):
            raise LogFault(f"A gate has at most {cap_pairs(policy)} pairs.")

        def change() -> None:
            if slot is None:
                new = Slot(record, index)
                gate.slots.append(new)
                gate.by_assignment[index] = new
            else:
                gate.by_assignment.pop(slot.index)
                slot.assignment, slot.index, slot.result = record, index, None
                gate.by_assignment[index] = slot

        return change

    def change_result(self, entry: Entry, record: GateResult, index: int) -> Change:
        """Checks a gate result; raises LogFault."""
        if entry.signers != (record.player,):
            raise LogFault("The gate result is not signed by the player that it names.")
        gate = self.open
        slot = gate.by_assignment.get(record.assignment) if gate is not None else None
        if gate is None or slot is None:
            fault = NotYet if record.assignment >= index else LogFault
            raise fault(f"Entry {record.assignment} is not a current assignment of gate pairs.")
        if slot.assignment.player != record.player:
            raise LogFault("The gate result is for another player's assignment.")
        if slot.result is not None:
            raise LogFault("These pairs have their result already.")
        if self._convictions.is_banned(record.player):
            raise LogFault("The gate result's player is banned.")
        if len(record.pairs) != slot.assignment.pairs:
            raise LogFault(f"The assignment has {slot.assignment.pairs} pairs, the result {len(record.pairs)}.")
        limits = gate.manifest.limits
        if record.blob_len > limits.blob_bytes or record.raw_len > limits.raw_bytes:
            raise LogFault("The gate result's games are larger than the manifest's limits.")
        candidates = self._subjects.candidates(index)
        if not candidates:
            raise NotYet("No verifier takes gate results now.")
        info = GateResultInfo(
            index,
            entry.envelope.digest,
            2 * len(record.pairs),
            gate.manifest.gate_search.semantics,
            candidates,
            replay_ppm=gate.manifest.gate.replay_ppm,
            result=record,
            assignment=slot.assignment,
        )

        def change() -> None:
            slot.result = info
            self._subjects.add(info)

        return change

    def change_verdict(self, info: GateResultInfo, verdict: Verdict, index: int) -> Change:
        """Checks what `Subjects.check_verdict` leaves to gate results; raises LogFault."""
        gate = self._current(info)
        if gate is None:
            raise LogFault("The gate result needs no verdict any more.")
        require_drawn(verdict, info.drawn)

        def change() -> None:
            info.verdict, info.verdict_index = verdict, index
            if not info.is_accepted:
                gate.barred.add(info.result.player)
            gate.count()

        return change

    def opened(self, info: GateResultInfo) -> None:
        """The traces behind a result's verdict are opened."""
        gate = self._current(info)
        if gate is not None:
            gate.count()

    def change_record(self, entry: Entry, record: GateRecord, index: int) -> Change:
        """Checks a gate record against the recount; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        gate = self._require_open(record.candidate)
        if record.base != gate.base.id:
            raise LogFault("The gate record's base is not the gate's.")
        if record.refused_since_base != self.refused_since_base():
            raise LogFault(
                f"{self.refused_since_base()} candidates were refused since the base, not as the record says."
            )
        counts = tuple(record.counts)
        claims = (record.passed, False) if record.passed and gate.is_forced() else (record.passed,)
        if not any(
            gate.is_decision(GateDecision(record.pairs, counts, record.llr_micro, claim))  # type: ignore[arg-type]
            for claim in claims
        ):
            if gate.decision.passed is None:
                raise LogFault(f"The gate is not decided after {gate.decision.pairs} counted pairs.")
            raise LogFault("The gate record is not what the counted pairs give.")

        def change() -> None:
            gate.record, gate.record_index = record, index
            self._cycles.gated += 1

        return change

    def _require_open(self, candidate: int) -> GateState:
        gate = self.open
        if gate is None or gate.index != candidate:
            raise LogFault(f"Entry {candidate} is not the candidate of an open gate.")
        return gate

    def _current(self, info: GateResultInfo) -> GateState | None:
        """The open gate, if the result is the current one of its slot."""
        gate = self.open
        if gate is not None and any(slot.result is info for slot in gate.slots):
            return gate
        return None

    def _may_play(self, gate: GateState, player: bytes, index: int) -> bool:
        role = self._roles.role_of(player, index)
        if role is not None:
            return role.role == COORDINATOR
        known = self._registry.find(player) is not None and not self._convictions.is_banned(player)
        return known and player not in gate.barred

    def _is_free(self, gate: GateState, slot: Slot, index: int) -> bool:
        """Whether a slot's pairs may be given anew: not answered or not confirmed in time, refused, or its player is out."""
        timeout = self._roles.manifest.admission.timeout_entries
        if slot.result is not None:
            is_stuck = not slot.is_complete and index > slot.result.index + CONFIRM_TIMEOUTS * timeout
            return slot.is_rejected or is_stuck
        late = index > slot.index + timeout
        return late or not self._may_play(gate, slot.assignment.player, index)

    def _is_out(self, gate: GateState, slot: Slot, index: int) -> bool:
        """Whether a slot's player is still expected to play it."""
        return slot.result is None and not self._is_free(gate, slot, index)

    def _assignment(self, gate: GateState, player: bytes, first: int, pairs: int) -> GateAssignment:
        return GateAssignment(self._roles.run, gate.index, gate.base.id, player, first, pairs)
