"""The verifier: cosigns the log, keeps epoch secrets, replays what is drawn, says what it saw.

Spec: `docs/spec/verdict.md`. Invariants: every batch is checked by the rules, drawn games are replayed whole up to the first
mismatch; verdict, traces and proof are on disk before anything is sent, so a kill repeats at most one replay; nobody is
judged before the engine's canaries came out.
"""

from dataclasses import dataclass, field

import trio

from native.pool import Job
from node.engine.engine import Engine
from node.member import Member
from node.networks import NetworkFault
from node.outbox import OPENING, VERDICT, Outbox
from node.own_status import queue_of
from node.peering.transport import TransportError
from node.reminder import Reminder
from node.status import Queue
from node.verifier.accuser import accuse
from node.verifier.epoch_keeper import NEW_KEY, NOT_APPROVED, Distrusted, EpochKeeper
from node.verifier.post_keeper import PostKeeper
from node.verifier.witness import Witness
from protocol.batch import Batch
from protocol.ed25519 import SecretKey
from protocol.seeds import work
from protocol.verdict import ACCEPT, REJECT, TraceOpening, Verdict
from protocol.words import counted
from verification.admission import check_batch, check_gate_result
from verification.faults import Rejected
from verification.gate_state import GateResultInfo
from verification.identities import batch_of
from verification.proof_builder import EvidenceFields, evidence_fields
from verification.replay import DOUBT, collect, name_mismatch
from verification.setup import gate_series, selfplay_job
from verification.state import LogState
from verification.subjects import BatchSubject

AT_ONCE = 4
FETCH_WITHIN_S = 60
AGAIN_S = 5.0
MAX_REASON = 200

Subject = BatchSubject | GateResultInfo


@dataclass(slots=True)
class Finding:
    """What judging a subject gave so far: games replayed, their D, why it is rejected (empty: it is not), the proof."""

    drawn: list[int] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    reason: str = ""
    evidence: EvidenceFields = field(default_factory=lambda: evidence_fields(None))
    proof: bytes = b""


class Verifier:
    """One verifying node; `run` returns when a drain is complete."""

    DRAINING = "Draining: what waits is judged and the epoch is ended, then this node ends."

    def __init__(self, member: Member, secret: SecretKey, engine: Engine) -> None:
        self._member = member
        self._secret = secret
        self._engine = engine
        self.outbox = Outbox(member, self._answered)
        self._epochs = EpochKeeper(member, secret)
        self._witness = Witness(member, secret, self._epochs)
        self._posts = PostKeeper(member, engine)
        member.keeps = self._posts.names
        self._draining = trio.Event()
        self._busy: set[bytes] = set()
        self._logged: dict[bytes, int] = {}
        self._awaited: dict[bytes, tuple[str, float]] = {}
        self._reminders: dict[bytes, Reminder] = {}
        self.verdicts = 0
        self.plies = 0

    @property
    def queues(self) -> list[Queue]:
        """For `gonode status`: what is judged or waits to be, and until then that this key is not approved yet."""
        member, unapproved_since = self._member, self._epochs.unapproved_since
        if unapproved_since is not None:
            return [queue_of(member, "approval", 1, NOT_APPROVED, unapproved_since), *self._posts.queues]
        if self._epochs.distrusted_since is not None:
            why = f"another key, for this one judges nothing more: {NEW_KEY}"
            return [queue_of(member, "approval", 1, why, self._epochs.distrusted_since), *self._posts.queues]
        due = {each.key for each in self._waiting()} if member.state.size >= 2 else set()
        due |= self._busy
        awaited = [what for digest, what in self._awaited.items() if digest in due]
        waiting_for, since_s = min(awaited, key=lambda what: what[1], default=(None, None))
        return [queue_of(member, "judging", len(due), waiting_for, since_s), *self._posts.queues]

    def drain(self) -> None:
        """Judge what waits, end the epoch, reveal its secret, then let `run` return."""
        self._draining.set()

    async def run(self) -> None:
        """Verifies until drained; raises Distrusted at that end where the log takes no more verdicts from this key."""
        async with trio.open_nursery() as nursery:
            keep = self._member.services.keep
            nursery.start_soon(keep, "outbox", self.outbox.run)
            nursery.start_soon(keep, "witness", self._witness.run)
            nursery.start_soon(keep, "epochs", self._epochs.run)
            nursery.start_soon(keep, "mirror", self._posts.run)
            nursery.start_soon(keep, "judging", self._judge_all)
            await self._draining.wait()
            await self._member.until(lambda: True if self._is_idle() else None)
            await self._epochs.finish()
            await self.outbox.until_empty()
            await self._witness.catch_up(self._said_size)
            nursery.cancel_scope.cancel()
        if self._epochs.distrust:
            raise Distrusted(self._epochs.distrust)

    async def _judge_all(self) -> None:
        """Judges subjects as they come, a few at once, until cancelled.

        It goes on during a drain: an epoch is revealed only after all that it draws from, headers that come late too.
        """
        async with trio.open_nursery() as nursery:
            while True:
                waiting = self._waiting()
                for subject in waiting[: max(0, AT_ONCE - len(self._busy))]:
                    self._busy.add(subject.key)
                    nursery.start_soon(self._judge, subject)
                await self._member.change_within(1.0)

    def _waiting(self) -> list[Subject]:
        """What this verifier may judge and does not yet: what older epochs wait for comes first, so that these can be
        revealed in time."""
        state, key = self._member.state, self._secret.public
        subjects: list[Subject] = [*state.gate_results_awaiting_verdict(key), *state.batches_awaiting_verdict(key)]
        waiting: dict[bytes, Subject] = {}  # of two looks of one batch, which have the same key, one
        for each in subjects:
            is_free = each.key not in self._busy and self._logged.get(each.key, -1) < state.size
            if is_free and self._member.store.outbox_item(VERDICT, each.key) is None:
                waiting.setdefault(each.key, each)
        return sorted(waiting.values(), key=lambda each: each.candidates.get(key, 0))

    def _answered(self, kind: str, key: bytes, index: int | None) -> None:
        """A verdict is not given again while this node's own copy of the log does not show why it was logged or refused."""
        if kind == VERDICT:
            size = self._member.state.size
            self._logged = {digest: at for digest, at in self._logged.items() if at >= size}
            self._logged[key] = size if index is None else index

    def _said_size(self) -> int | None:
        """The log's size below which lies all that this node said; None while it has something to say."""
        return None if self._busy or len(self.outbox) else self.outbox.logged_size

    def _is_idle(self) -> bool:
        """Whether nothing is being judged and no batch waits for a verdict that this verifier might have to give, nor for
        the beacon that it needs first."""
        undecided, key = self._member.state.batches.undecided(), self._secret.public
        return not self._busy and all(each.verdict is not None or key not in each.candidates for each in undecided)

    async def _judge(self, subject: Subject) -> None:
        try:
            finding = await self._examine(subject)
        except (TransportError, NetworkFault) as error:
            self._await(subject, f"what entry {subject.index} needs: {error}")
            pause_s = self._member.jitter(AGAIN_S)
            text = f"Entry {subject.index} cannot be verified yet, others are meanwhile: {error}"
            self._reminders.setdefault(subject.key, Reminder(self._member.events)).say(text, pause_s)
            await trio.sleep(pause_s)
        else:
            if finding is not None and self._is_asked(subject):
                self._say(subject, finding)
        finally:
            self._busy.discard(subject.key)
            self._member.wake()

    def _await(self, subject: Subject, what: str) -> None:
        """Notes what a subject waits for, since it first waited."""
        self._awaited[subject.key] = what, self._awaited.get(subject.key, (what, trio.current_time()))[1]

    async def _examine(self, subject: Subject) -> Finding | None:
        """Fetches, checks and replays a subject; None when the engine was stopped in between, or contradicts itself."""
        member = self._member
        record = subject.header if isinstance(subject, BatchSubject) else subject.result
        self._await(subject, f"the blob of entry {subject.index}")
        blob = await member.blobs.fetch(record.blob_digest, member.reach.peers, record.blob_len, FETCH_WITHIN_S)
        del self._awaited[subject.key]
        self._reminders.pop(subject.key, None)
        try:
            batch = await self._engine.compute(_check, member.state, subject, blob)
        except Rejected as rejected:
            return await self._reject(subject, Finding(), blob, rejected)
        if not self._is_asked(subject):
            return None
        finding = Finding()
        for game in self._drawn(subject):
            job = await self._job(subject, game)
            done = await self._engine.replay(job, batch.games[game].raw)
            if done.is_stopped:
                return None
            replayed = collect((game,), (done,))
            finding.drawn.append(game)
            finding.digests += replayed.digests
            self.plies += done.plies
            if replayed.mismatch is not None:
                named = await self._engine.compute(name_mismatch, job, batch.games[game], replayed.mismatch)
                if named.label == DOUBT:
                    await self._engine.verify_canaries()
                    member.events("engine-doubt", f"{named.reason} Entry {subject.index} is judged once more.")
                    return None
                return await self._reject(subject, finding, blob, named)
        await self._engine.verify_canaries()
        return finding

    async def _reject(self, subject: Subject, finding: Finding, blob: bytes, rejected: Rejected) -> Finding:
        """The finding that rejects, with a proof against the contributor where one game is to blame."""
        await self._engine.verify_canaries()
        finding.reason, finding.evidence = str(rejected)[:MAX_REASON], evidence_fields(rejected)
        if isinstance(subject, BatchSubject):
            finding.proof = await accuse(self._member, batch_of(subject), blob, rejected)
        return finding

    def _is_asked(self, subject: Subject) -> bool:
        """Whether this verifier may still judge: a ban or a void epoch may have come meanwhile."""
        return self._secret.public in subject.candidates

    def _drawn(self, subject: Subject) -> tuple[int, ...]:
        if isinstance(subject, GateResultInfo):
            return subject.drawn
        return subject.draw(self._epochs.secret_of(subject.candidates[self._secret.public]))

    async def _job(self, subject: Subject, game: int) -> Job:
        """The game of a subject as it has to be replayed."""
        member, state = self._member, self._member.state
        if isinstance(subject, GateResultInfo):
            assignment = subject.assignment
            candidate, base = await member.gate_players(assignment)
            pair, colour = divmod(game, 2)
            return gate_series(state, assignment.candidate).jobs(assignment.first_pair + pair, candidate, base)[colour]
        release = state.release_by_id(subject.header.release)
        assert release is not None  # the state refuses a header of an unknown release
        player = await member.player_of(release)
        return selfplay_job(state, release, subject.header.owner, subject.header.first_counter + game, player)

    def _say(self, subject: Subject, finding: Finding) -> None:
        """Keeps verdict and traces to be sent."""
        member = self._member
        record = subject.header if isinstance(subject, BatchSubject) else subject.result
        verdict = Verdict(
            run=member.state.run,
            subject=subject.digest,
            index=subject.index,
            epoch=subject.candidates[self._secret.public],
            verifier=self._secret.public,
            semantics=subject.semantics,
            drawn=tuple(finding.drawn),
            outcome=REJECT if finding.reason else ACCEPT,
            **finding.evidence,
            reason=finding.reason,
            work=work(record.run, self._secret.public, subject.digest, finding.digests),
        )
        traces = member.blob_store.put(b"".join(finding.digests))
        opening = TraceOpening(
            record.run, self._secret.public, subject.digest, subject.index, traces, len(finding.digests)
        )
        with member.store.transaction():
            self.outbox.put(VERDICT, subject.key, verdict.seal(self._secret), finding.proof)
            if finding.drawn:
                self.outbox.put(OPENING, subject.key, opening.seal(self._secret))
        self.verdicts += 1
        member.events(
            "verdict",
            f"Entry {subject.index}: {verdict.outcome}, {counted(len(finding.drawn), 'game')} replayed. "
            f"{finding.reason}".strip(),
            index=subject.index,
            outcome=verdict.outcome,
            drawn=len(finding.drawn),
        )


def _check(state: LogState, subject: Subject, blob: bytes) -> Batch:
    if isinstance(subject, BatchSubject):
        return check_batch(state, subject, blob)
    return check_gate_result(state, subject, blob)
