"""The coordinator's examiner: tests verifiers with ringers, batches of its own that are wrong in one ply.

Spec: `docs/spec/ringer.md` ("Making one"). Invariants: the plan is on disk before its commitment is logged, and everything
else is read from the log, so a kill between any two steps changes nothing; commitments come at a steady rate, most of them
to nothing, so that none tells when a ringer comes; nothing is revealed while a verifier has yet to judge it.
"""

from functools import partial
from hashlib import sha256
from typing import Final

from node.coordinator.log_writer import LogWriter
from node.coordinator.ringer_plan import Plan, Ringer, commitment_every, drop_plan, kept_plan
from node.coordinator.ringer_player import RingerPlayer
from node.engine.engine import Engine
from node.gate_player import GatePlayer
from node.member import Member
from node.outbox import Outbox
from protocol.codec import decode, encode
from protocol.ed25519 import SecretKey
from protocol.proof import PLY
from protocol.ringer import RingerHash, RingerReveal
from protocol.seeds import ringer_commitment
from verification.faults import LogFault, NotYet
from verification.identities import BatchInfo
from verification.subjects import BatchSubject

NEXT: Final = "ringer/next"
"""The number of the ringer under way or next, and how many batches the run has when it begins."""


class Examiner:
    """One ringer after another, each `ringer_batches` batches on average."""

    def __init__(
        self, member: Member, secret: SecretKey, log: LogWriter, engine: Engine, outbox: Outbox, player: GatePlayer
    ) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._engine = engine
        self._outbox = outbox
        self._player = player
        self._plan = kept_plan(member.store)

    # ---- what is logged, once a second

    def step(self, is_draining: bool) -> None:
        """Reveals what is judged; unless draining, also logs the commitment and the header that are due."""
        if self._member.state.size < 2:
            return
        self._reveal()
        if self._every and not is_draining:
            self._commit()
            self._send()

    def is_ringer(self, check: BatchSubject) -> bool:
        """Whether a verdict finds what was wrong on purpose, which is revealed in place of a ban.

        One that finds something else in a ringer is looked into like any other.
        """
        plan, verdict = self._plan, check.verdict
        if plan is None or verdict is None or check.digest != plan.header.digest:
            return False
        return (verdict.evidence, verdict.game, verdict.ply) == (PLY, plan.game, plan.ply)

    def _reveal(self) -> None:
        """Opens the plan once its verdicts are logged."""
        member, plan = self._member, self._plan
        batch = None if plan is None else self._logged(plan)
        state = member.state
        if plan is None or batch is None or not state.ringers.may_reveal(batch, state.size):
            return
        if state.ringers.find(batch.header.peer) is None:
            salt = self._ringer(plan.number).salt
            self._log.append(RingerReveal(state.run, batch.index, plan.game, plan.ply, salt).seal(self._secret))
            missed = [each for each in state.ringers.missed() if each.digest == batch.digest]
            end = f"it was missed by {len(missed)}" if missed else "nobody missed it"
            text = f"Revealed the ringer at entry {batch.index}: {end}."
            member.events("ringer", text, index=batch.index, missed=len(missed))
        self._drop()

    def _commit(self) -> None:
        """Logs the next commitment when its turn has come: the plan's, or one to nothing."""
        state, plan = self._member.state, self._plan
        newest = state.ringers.newest_commitment
        if not state.verifiers() or (
            newest is not None and self._batches_since(newest) < commitment_every(self._every)
        ):
            return
        if plan is not None and state.ringers.committed_at(self._commitment(plan)) is None:
            commitment = self._commitment(plan)
        else:
            word = b"gonode/ringer-nothing/v1\0" + state.run + state.size.to_bytes(8, "little")
            commitment = sha256(self._secret.sign(word)).digest()
        self._log.append(RingerHash(state.run, commitment).seal(self._secret))
        self._member.wake()

    def _send(self) -> None:
        """Logs the plan's header once enough batches came after its commitment; drops a plan that can never be logged."""
        plan = self._plan
        committed_at = None if plan is None else self._member.state.ringers.committed_at(self._commitment(plan))
        if plan is None or committed_at is None or self._logged(plan) is not None:
            return
        if self._batches_since(committed_at) < plan.delay:
            return
        self._member.blob_store.put(plan.blob)
        try:
            self._log.append(plan.header)
        except NotYet:
            return
        except LogFault:  # its release is too old by now, or its key is out
            self._drop()
        self._member.wake()

    def _drop(self) -> None:
        drop_plan(self._member.store)
        self._plan = None
        self._member.wake()

    def _commitment(self, plan: Plan) -> bytes:
        salt = self._ringer(plan.number).salt
        return ringer_commitment(self._member.state.run, plan.header.digest, plan.game, plan.ply, salt)

    def _logged(self, plan: Plan) -> BatchInfo | None:
        found = self._member.state.subjects.by_digest.get(plan.header.digest)
        return found if isinstance(found, BatchInfo) else None

    def _batches_since(self, index: int) -> int:
        """How many batches came after an entry."""
        count = 0
        for batch in reversed(self._member.state.batches.all):
            if batch.index < index:
                break
            count += 1
        return count

    # ---- what is played

    async def run(self) -> None:
        """Has ringers play until cancelled."""
        while True:
            number, begin = self._next()
            await self._member.until(partial(self._is_due, begin))
            ringer = self._ringer(number)
            player = RingerPlayer(self._member, ringer, self._engine, self._outbox, self._player)
            await player.run(self._take, lambda: self._plan is not None)
            if self._plan is not None and self._logged(self._plan) is None:
                self._drop()
            self._put_next(number + 1, begin)

    def _take(self, plan: Plan) -> None:
        """A ringer's wrong batch is made: it is on disk from here on."""
        plan.keep(self._member.store)
        self._plan = plan
        self._member.wake()

    def _next(self) -> tuple[int, int]:
        match decode(self._member.store.get(NEXT) or encode(None)):
            case [int(number), int(begin)]:
                return number, begin
        return self._put_next(0, 0)

    def _put_next(self, number: int, begin: int) -> tuple[int, int]:
        """Keeps when the ringer `number` begins, counted from when the one before it did."""
        begin = max(begin, self._count - self._every) + self._ringer(number).pause(self._every)
        self._member.store.put(NEXT, encode([number, begin]))
        return number, begin

    def _is_due(self, begin: int) -> bool | None:
        return (self._every > 0 and self._count >= begin and bool(self._member.state.verifiers())) or None

    @property
    def _count(self) -> int:
        return self._member.state.batches.total().batches

    @property
    def _every(self) -> int:
        return self._member.state.manifest.admission.ringer_batches

    def _ringer(self, number: int) -> Ringer:
        return Ringer(self._secret, self._member.state.run, number)
