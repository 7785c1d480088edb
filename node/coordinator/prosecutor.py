"""The coordinator's prosecutor: proves by itself what verdicts say of batches, and has whom a proof convicts banned.

Spec: `docs/spec/proof.md` ("Bans"). No verdict is believed: a proof of what it points to, checked with the scalar kernel,
convicts the batch's signer; where none holds, a proof that it points to what is right convicts the verifier; and once a
batch is shown to be wrong, so does each logged verdict that accepted the wrong game after replaying it. Invariants: nothing
is banned without a proof that was checked here; nothing is kept but the log, so a restart goes on from the state.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from native.network import Kernel
from node.accusation import prove
from node.coordinator.log_writer import LogWriter
from node.engine.engine import Engine
from node.member import Member
from node.own_status import queue_of
from node.peering.transport import TransportError
from node.status import Queue
from protocol.batch import Batch, parse_game_leaf, unpack_batch
from protocol.ed25519 import SecretKey
from protocol.entries import parse_entry
from protocol.errors import ProtocolError
from protocol.proof import CONTRIBUTOR, PLY, Ban, FraudProof, Pardon
from protocol.record import Record
from protocol.ringer import RingerReveal
from protocol.verdict import BLOB, Verdict
from protocol.words import counted
from verification.admission import check_batch
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo, batch_of
from verification.proof import Finding, NetworkMissing, NetworkOf, check_proof
from verification.proof_builder import Evidence, evidence_in, evidence_of
from verification.subjects import BatchSubject

FETCH_WITHIN_S = 30
PAUSE_S = 0.25


@dataclass(frozen=True, slots=True)
class Case:
    """A proof that holds, and what it shows."""

    proof: bytes
    finding: Finding


class Waiting(Exception):
    """Why a proof cannot be made or logged now, in a few words."""


def is_no_ringer(check: BatchSubject) -> bool:
    """The `is_ringer` of a coordinator that has no batches of its own."""
    return False


class Prosecutor:
    """Works off, one after another, what verdicts accuse contributors of and what proofs show about verifiers.

    `is_ringer(check)` says whether a batch is one of the coordinator's own, which is revealed in place of a ban.
    """

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter, engine: Engine) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._engine = engine
        self.is_ringer: Callable[[BatchSubject], bool] = is_no_ringer
        # Of verdicts, by what `_key` gives; all of it can be made again from the log.
        self._posted: dict[bytes, bytes] = {}
        self._paused: dict[bytes, Case] = {}
        self._faults: dict[bytes, str] = {}
        self._waits: dict[bytes, tuple[str, float]] = {}
        self._blobs: dict[bytes, bool] = {}  # whether the blob that a verdict calls wrong is wrong
        self._disputes: Counter[bytes] = Counter()  # right blobs that a verifier called wrong
        self._evidence: dict[int, Evidence | None] = {}  # by the index of the entry that shows it
        self._is_alarmed = False

    @property
    def faults(self) -> list[str]:
        """What is wrong and no proof can show."""
        disputed = [
            f"Verifier {verifier.hex()[:16]} rejected {counted(count, 'batch', 'batches')} for a blob that is in order."
            for verifier, count in self._disputes.items()
        ]
        return [*disputed, *self._faults.values()]

    @property
    def queue(self) -> Queue:
        """For `gonode status`: accusations that are not proved yet, and what the oldest waits for."""
        length = len(self._member.state.batches.accusing())
        text, since_s = min(self._waits.values(), key=lambda wait: wait[1], default=(None, None))
        return queue_of(self._member, "proofs", length, text, since_s)

    def take(self, verdict: Verdict, proof: bytes) -> None:
        """Takes the proof that came with a verdict: it is tried before one is made here, if the verdict accuses somebody."""
        for check in self._member.state.batches.accusing():
            if check.verdict == verdict:
                self._posted[_key(check)] = proof
                self._member.wake()

    def may_reject(self, check: BatchSubject) -> bool:
        """Whether the coordinator's own look at a blob confirms a verdict that rejects the batch for it."""
        return not _is_for_blob(check) or self._blobs.get(_key(check), False)

    async def run(self) -> None:
        """Prosecutes until cancelled."""
        while True:
            await self.step()
            await trio.sleep(PAUSE_S)
            await self._member.change_within(1.0)

    async def step(self) -> None:
        """Does what can be done now."""
        state = self._member.state
        work: list[tuple[BatchSubject, Callable[[BatchSubject], Awaitable[None]]]] = []
        accusing = [each for each in state.batches.accusing() if not state.is_banned(each.header.peer)]
        work += [(check, self._prosecute) for check in accusing if not self.is_ringer(check)]
        work += [(check, self._look_at_blob) for check in state.batches.undecided() if _is_for_blob(check)]
        work += [(check, partial(self._prosecute_accept, evidence)) for check, evidence in self._wrongly_accepted()]
        self._forget({_key(check) for check, _ in work})
        for check, act in work:
            key = _key(check)
            if key in self._faults or key in self._blobs:
                continue
            try:
                await act(check)
            except (Waiting, TransportError, NetworkMissing) as reason:
                since_s = self._waits[key][1] if key in self._waits else trio.current_time()
                self._waits[key] = f"the batch at entry {batch_of(check).index}: {reason}", since_s
            else:
                self._waits.pop(key, None)

    def _forget(self, keys: set[bytes]) -> None:
        """Lets go of what was noted about verdicts on which nothing is to be done any more."""
        noted: dict[bytes, Any]
        for noted in (self._posted, self._paused, self._faults, self._waits, self._blobs):
            for key in noted.keys() - keys:
                del noted[key]
        self._is_alarmed = self._is_alarmed and bool(self._paused)

    async def accuse(self, batch: BatchInfo, evidence: Evidence) -> bool:
        """Has a batch's signer banned for what the coordinator found in it by itself; raises Waiting, LogFault.

        False for what would be pardoned if a verdict said it: without one neither a pardon nor a ban is logged.
        """
        state = self._member.state
        if state.is_banned(batch.header.peer) or state.convictions.is_shown(batch.index):
            return True
        content = await self._content(batch)
        case = None if content is None else await self._case(batch, content, evidence, against_verifier=False)
        if case is None:
            raise LogFault(f"Nothing proves that the batch at entry {batch.index} is wrong.")
        is_alarm = state.convictions.alarm.reason(batch.header, state.size) is not None
        is_accused = any(look.is_accusing for look in batch.looks)
        if case.finding.kind == PLY and not is_accused and self._may_pardon(batch, is_alarm):
            return False
        self._convict(batch, case)
        return True

    # ---- a batch that a verdict rejects

    async def _prosecute(self, check: BatchSubject) -> None:
        """Has the signer banned or pardoned, or else the verifier banned, or else notes why neither can be proved."""
        evidence = None if check.verdict is None else evidence_in(check.verdict)
        case = self._paused.get(_key(check)) or await self._posted_case(check)
        content, fault = await self._content(batch_of(check)), ""
        if content is None:
            fault = "Its blob holds no games."
        for against_verifier in (False, True):
            if case is None and content is not None and evidence is not None:
                try:
                    case = await self._case(check, content, evidence, against_verifier)
                except LogFault as error:
                    fault = error.reason
        if case is None:
            case = await self._other_case(check, content)
        if case is not None:
            self._convict(check, case)
            return
        verifier = b"" if check.verdict is None else check.verdict.verifier
        text = f"Nothing proves what verifier {verifier.hex()[:16]} says of the batch at entry {batch_of(check).index}."
        self._note(check, f"{text} {fault}".strip())

    async def _posted_case(self, check: BatchSubject) -> Case | None:
        """What the verifier's own proof shows of this batch's signer."""
        proof = self._posted.pop(_key(check), b"")
        if not proof:
            return None
        case = await self._checked(check, proof)
        if case is None:
            self._member.events("proof-fails", f"A verifier's proof about entry {batch_of(check).index} does not hold.")
            return None
        is_about_it = (case.finding.accused, case.finding.entry) == (CONTRIBUTOR, batch_of(check).index)
        return case if is_about_it else None

    async def _other_case(self, check: BatchSubject, content: Batch | None) -> Case | None:
        """What the coordinator's own look at the batch shows of its signer, where the verdict's evidence shows nothing."""
        batch = batch_of(check)
        blob = await self._bytes(batch.header.blob_digest, batch.header.blob_len)
        try:
            await self._engine.compute(check_batch, self._member.state, batch, blob)
        except Rejected as rejected:
            evidence = evidence_of(rejected)
            if evidence is not None and content is not None:
                try:
                    return await self._case(check, content, evidence, against_verifier=False)
                except LogFault:
                    return None
        return None

    # ---- a batch that a verdict accepts, or rejects for its blob

    async def _prosecute_accept(self, evidence: Evidence, check: BatchSubject) -> None:
        """Has the verifier banned that accepted what is shown to be wrong."""
        content = await self._content(batch_of(check))
        try:
            case = None if content is None else await self._case(check, content, evidence, against_verifier=True)
        except LogFault as error:
            self._note(check, error.reason)
            return
        if case is None:
            self._note(check, f"Nothing proves that the batch at entry {batch_of(check).index} was accepted wrongly.")
        else:
            self._convict(check, case)

    def _wrongly_accepted(self) -> Iterator[tuple[BatchSubject, Evidence]]:
        """Logged verdicts of verifiers at large that accept a game which is shown to be wrong, and which they replayed."""
        state = self._member.state
        for header_index, index in state.convictions.shown.items():
            batch, evidence = state.batch(header_index), self._evidence_at(index)
            for check in () if batch is None or evidence is None else batch.looks:
                verdict = check.verdict
                if verdict is None or evidence is None or state.is_banned(verdict.verifier):
                    continue
                if check.is_accepted and evidence.game in verdict.drawn:
                    yield check, evidence

    def _evidence_at(self, index: int) -> Evidence | None:
        """What a logged ban, pardon or reveal shows."""
        if index not in self._evidence:
            self._evidence[index] = _shown_by(parse_entry(self._member.entry_at(index)).record)
        return self._evidence[index]

    async def _look_at_blob(self, check: BatchSubject) -> None:
        """Notes whether the blob is what its header says. A search cannot prove that it is, so nobody is banned for it."""
        batch = batch_of(check)
        blob = await self._bytes(batch.header.blob_digest, batch.header.blob_len)
        try:
            await self._engine.compute(check_batch, self._member.state, batch, blob)
        except Rejected:
            self._blobs[_key(check)] = True
        else:
            verifier = b"" if check.verdict is None else check.verdict.verifier
            self._blobs[_key(check)] = False
            self._disputes[verifier] += 1
            text = f"Verifier {verifier.hex()[:16]} rejects the batch at entry {batch.index} for its blob"
            self._member.events("fault", f"{text}, which is in order.")

    # ---- proofs

    async def _case(
        self, check: BatchSubject, content: Batch, evidence: Evidence, against_verifier: bool
    ) -> Case | None:
        """The proof, if it holds; raises Waiting, and LogFault where none can be made."""
        proof = prove(self._member, check, content, evidence, against_verifier)
        if proof is None:
            raise Waiting("no cosigned head covers what its proof needs")
        return await self._checked(check, proof)

    async def _checked(self, check: BatchSubject, proof: bytes) -> Case | None:
        networks = await self._networks(batch_of(check))
        await self._engine.verify_canaries()
        try:
            finding = await self._engine.compute(check_proof, proof, self._member.state.run, networks, Kernel.SCALAR)
        except ProtocolError:
            return None
        return Case(proof, finding)

    async def _content(self, batch: BatchInfo) -> Batch | None:
        """The games of a batch; None where its blob holds none."""
        blob = await self._bytes(batch.header.blob_digest, batch.header.blob_len)
        try:
            return unpack_batch(blob, batch.header.raw_len)
        except ProtocolError:
            return None

    async def _networks(self, batch: BatchInfo) -> NetworkOf:
        release = self._member.state.release_by_id(batch.header.release)
        if release is None or not release.network_blob:
            return lambda digest: None  # release 0: the proof's manifest gives its network
        return {release.network: await self._bytes(release.network_blob, release.network_len)}.get

    async def _bytes(self, digest: bytes, length: int) -> bytes:
        data = self._member.blob_store.get(digest)
        if data is None:
            data = await self._member.blobs.fetch(digest, self._member.transport.peers, length, FETCH_WITHIN_S)
        return data

    # ---- what follows

    def _convict(self, check: BatchSubject, case: Case) -> None:
        """Logs what a proof leads to, unless it is logged already; raises Waiting while an alarm pauses it."""
        state, batch, finding = self._member.state, batch_of(check), case.finding
        name = finding.subject.hex()[:8]
        if state.is_banned(finding.subject):
            return
        ban = Ban(state.run, finding.subject, case.proof)
        if finding.accused != CONTRIBUTOR:
            self._append(check, ban, "verifier-banned", f"Banned verifier {name}: {finding.sentence}")
            return
        if state.convictions.is_shown(batch.index):
            return
        if finding.kind == PLY:
            paused = state.convictions.alarm.reason(batch.header, state.size)
            if self._may_pardon(batch, is_alarm=paused is not None):
                pardon = Pardon(state.run, finding.subject, case.proof)
                self._append(check, pardon, "pardon", f"Pardoned {name}: {finding.sentence}")
                return
            if paused is not None:
                self._paused[_key(check)] = case
                if not self._is_alarmed:
                    self._is_alarmed = True
                    self._member.events("alarm", f"{paused} Those who failed stay suspended meanwhile.")
                raise Waiting(paused)
        self._append(check, ban, "ban", f"Banned {name}: {finding.sentence}")

    def _may_pardon(self, batch: BatchInfo, is_alarm: bool) -> bool:
        """Whether to pardon: whenever the rules allow it, but during an alarm only once, and nobody on probation.

        Else whoever can set off an alarm could have all its keys cheat without a risk while it lasts.
        """
        state = self._member.state
        if not state.rechecks.may_pardon(batch, state.size):
            return False
        identity = state.batches.identity(batch.header.peer)
        if identity is None or not is_alarm:
            return identity is not None
        return identity.first_passed(state.manifest.admission) and not identity.pardoned_at

    def _append(self, check: BatchSubject, record: Record, event: str, text: str) -> None:
        try:
            self._log.append(record.seal(self._secret))
        except LogFault as fault:
            self._note(check, f"What a proof shows is not logged: {fault.reason}")
        else:
            self._member.wake()
            self._member.events(event, text)

    def _note(self, check: BatchSubject, fault: str) -> None:
        """Notes, and says once, what no proof can show."""
        self._faults[_key(check)] = fault
        self._member.events("fault", fault)


def _key(check: BatchSubject) -> bytes:
    """What tells a check's verdict from all others."""
    return check.key + (b"" if check.verdict is None else check.verdict.verifier)


def _is_for_blob(check: BatchSubject) -> bool:
    return check.verdict is not None and check.verdict.evidence == BLOB


def _shown_by(record: Record) -> Evidence | None:
    """Where a ban's or pardon's proof, or a reveal, says that a batch is wrong; None for a ban of a verifier."""
    if isinstance(record, RingerReveal):
        return Evidence(PLY, record.game, record.ply)
    if not isinstance(record, Ban | Pardon):
        return None
    proof = FraudProof.parse(record.proof)
    if proof.accused != CONTRIBUTOR:
        return None
    ply = proof.ply_index + parse_game_leaf(proof.game).header.opening_moves if proof.kind == PLY else None
    return Evidence(proof.kind, proof.game_index, ply)
