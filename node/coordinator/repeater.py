"""The coordinator's repeater: replays games that are drawn once more and that no other verifier can take.

Spec: `docs/spec/orders.md` ("repeat"). Which games is a function of the log; how many of these orders are done is in the
store, so a kill repeats at most one. One game at a time. A wrong one is proved, and its signer banned, by the prosecutor,
who also looks after the verifier that accepted it; one wrong ply of somebody who has a pardon earned only means full replay.
"""

from typing import Final

import trio

from node.coordinator.prosecutor import Prosecutor, Waiting
from node.coordinator.scrutineer import Scrutineer
from node.engine.engine import Engine
from node.member import Member
from node.networks import NetworkFault
from node.own_status import queue_of
from node.peering.transport import TransportError
from node.status import Queue
from protocol.batch import unpack_batch
from protocol.codec import decode, encode
from protocol.seeds import PPM
from verification.faults import LogFault, Rejected
from verification.identities import BatchInfo
from verification.proof import NetworkMissing
from verification.proof_builder import evidence_of
from verification.replay import DOUBT, collect, name_mismatch
from verification.setup import selfplay_job
from verification.statistics.suspicion import Suspicion

NEXT: Final = "repeats/next"
"""How many of the log's repeats that are the coordinator's are done."""

AGAIN_S = 15.0
MOST_DOUBTS = 3
MOST_CHARACTERS = 200


class Repeater:
    """Works off `Rechecks.alone`, oldest first; `games` counts replays since the start."""

    def __init__(self, member: Member, engine: Engine, prosecutor: Prosecutor, scrutineer: Scrutineer) -> None:
        self._member = member
        self._engine = engine
        self._prosecutor = prosecutor
        self._scrutineer = scrutineer
        self._wait: tuple[str, float] | None = None
        self._doubts = 0
        self.games = 0

    @property
    def queue(self) -> Queue:
        """For `gonode status`: batches of which games are still to be replayed, and what the first waits for."""
        text, since_s = self._wait or (None, None)
        return queue_of(self._member, "repeats", len(self._alone) - self._done, text, since_s)

    async def run(self) -> None:
        """Repeats until cancelled."""
        while True:
            if self._done >= len(self._alone):
                await self._member.change_within(1.0)
            elif await self._try(*self._alone[self._done]):
                self._member.store.put(NEXT, encode(self._done + 1))
                self._wait, self._doubts = None, 0
            else:
                await trio.sleep(AGAIN_S)

    @property
    def _alone(self) -> list[tuple[BatchInfo, tuple[int, ...]]]:
        return self._member.state.rechecks.alone

    @property
    def _done(self) -> int:
        match decode(self._member.store.get(NEXT) or encode(0)):
            case int(done):
                return done
        return 0

    async def _try(self, batch: BatchInfo, games: tuple[int, ...]) -> bool:
        """Whether an order is done with; notes what it waits for if not."""
        state = self._member.state
        if batch.dropped or state.batches.is_out(batch.header.peer):
            return True
        try:
            found = await self._replay(batch, games)
            return found is None or await self._accuse(batch, found)
        except (NetworkFault, NetworkMissing, TransportError, Waiting) as reason:
            self._wait = f"the batch at entry {batch.index}: {reason}", self._since_s
            return False

    @property
    def _since_s(self) -> float:
        return trio.current_time() if self._wait is None else self._wait[1]

    async def _replay(self, batch: BatchInfo, games: tuple[int, ...]) -> Rejected | None:
        """What is wrong in the first of these games that is; raises Waiting where the engine could not say."""
        member, header = self._member, batch.header
        release = member.state.release_by_id(header.release)
        assert release is not None  # the state refuses a header of an unknown release
        content = await self._engine.compute(unpack_batch, await self._blob(batch), header.raw_len)
        player = await member.player_of(release)
        for game in games:
            job = selfplay_job(member.state, release, header.owner, header.first_counter + game, player)
            done = await self._engine.replay(job, content.games[game].raw)
            if done.is_stopped:
                raise Waiting("the engine was stopped")
            self.games += 1
            mismatch = collect((game,), (done,)).mismatch
            if mismatch is None:
                continue
            found = await self._engine.compute(name_mismatch, job, content.games[game], mismatch)
            await self._engine.verify_canaries()
            if found.label != DOUBT:
                return found
            self._doubts += 1
            if self._doubts < MOST_DOUBTS:
                raise Waiting(f"the engine contradicts itself: {found.reason}")
            member.events("engine-doubt", f"{found.reason} The batch at entry {batch.index} is passed over.")
            return None
        await self._engine.verify_canaries()
        return None

    async def _blob(self, batch: BatchInfo) -> bytes:
        header, member = batch.header, self._member
        data = member.blob_store.get(header.blob_digest)
        if data is None:
            data = await member.blobs.fetch(header.blob_digest, member.transport.peers, header.blob_len, AGAIN_S)
        return data

    async def _accuse(self, batch: BatchInfo, found: Rejected) -> bool:
        """Has what a replay found punished; raises Waiting while that cannot be."""
        evidence, text = evidence_of(found), f"A repeat of the batch at entry {batch.index} failed: {found}"
        if self._wait is None:
            self._member.events("repeat-failed", text, index=batch.index)
        try:
            is_settled = evidence is not None and await self._prosecutor.accuse(batch, evidence)
        except LogFault as fault:
            self._member.events("fault", f"{text} {fault.reason}")
            return True
        if not is_settled:
            self._scrutineer.raise_share(Suspicion(batch.header.peer, PPM, False, text[:MOST_CHARACTERS]))
        return True
