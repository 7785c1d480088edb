"""One ringer's life up to its wrong batch: a contributor like others, whose games the coordinator's engine plays.

Spec: `docs/spec/ringer.md` ("Making one"). Invariants: it registers, plays gate pairs and says of its machine what another
contributor does; its games give way to gate pairs, one at a time; the wrong ply passes every check but a replay, and that
differs there. What is done is read from the log.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import trio

from native.pool import Job
from node.contributor.registrar import Registrar, RegistrationRefused
from node.contributor.sealing import seal_batch
from node.coordinator.ringer_edits import EDITS, Edit, diverted, spliced
from node.coordinator.ringer_plan import Plan, Ringer
from node.engine.engine import Engine
from node.gate_player import GatePlayer
from node.member import Member
from node.networks import NetworkFault
from node.outbox import Outbox
from node.peering.call import CallRefused
from node.peering.post import Post
from node.peering.transport import TransportError
from protocol.envelope import Envelope
from protocol.game_block import GameBlock
from protocol.header import BatchHeader
from protocol.registration import Registration
from verification.admission import check_game
from verification.faults import Rejected
from verification.releases import ReleaseInfo
from verification.setup import SelfplaySeries, selfplay_series

AGAIN_S: Final = 5.0
TRIES: Final = 30
LIKE: Final = 64
"""A ringer resembles the contributor of one of the last so many batches."""


@dataclass(slots=True)
class Games:
    """The games of a batch to be, as they were played."""

    series: SelfplaySeries
    first: int
    jobs: list[Job]
    blocks: list[GameBlock]


class RingerPlayer:
    """Plays for one ringer; `player` is the coordinator's own, which comes first."""

    def __init__(self, member: Member, ringer: Ringer, engine: Engine, outbox: Outbox, player: GatePlayer) -> None:
        self._member = member
        self._ringer = ringer
        self._key = ringer.key
        self._engine = engine
        self._player = player
        self._gate = GatePlayer(member, ringer.key, engine, outbox)
        self._like = self._example()

    async def run(self, take: Callable[[Plan], None], is_taken: Callable[[], bool]) -> None:
        """Returns when the key is over and nothing is asked of it any more.

        `take` gets the wrong batch. While `is_taken` says that it has one nothing else is played.
        """
        member, state, peer = self._member, self._member.state, self._key.public
        try:
            await self._register()
        except RegistrationRefused as refusal:
            member.events("fault", f"A ringer is not registered: {refusal}")
            return
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._gate.run)
            while not state.batches.is_out(peer):
                if is_taken() or state.batches.is_suspended(peer) or self._is_awaited():
                    await member.change_within(1.0)
                    continue
                try:
                    plan = await self._play_batch()
                    if plan is not None:
                        take(plan)
                except (NetworkFault, TransportError, CallRefused):
                    await trio.sleep(member.jitter(AGAIN_S))
            await member.until(lambda: None if state.gate_assignments(peer) else True)
            await self._gate.idle()
            nursery.cancel_scope.cancel()

    # ---- like others

    def _example(self) -> BatchHeader:
        """The header whose contributor the ringer resembles: its own first, else a recent one of another's."""
        state = self._member.state
        own = next((batch.header for batch in state.batches.all if batch.header.peer == self._key.public), None)
        if own is not None:
            return own
        others = [batch.header for batch in state.batches.all if state.ringers.find(batch.header.peer) is None]
        return self._ringer.rng("example").choice(others[-LIKE:])

    async def _register(self) -> None:
        """Registers as that contributor did: with an invite or a stamp, with or without a recovery key."""
        known = self._member.state.registry.find(self._like.peer)
        record = None if known is None else known.record
        invite, recovery_hash = self._ringer.invite, b""
        if isinstance(record, Registration):
            invite = invite if record.invite else b""
            recovery_hash = self._ringer.recovery_hash if record.recovery_hash else b""
        name = f"node-{self._key.public.hex()[:8]}"
        registrar = Registrar(self._member, self._key, self._engine, invite, name, recovery_hash, is_ringer=True)
        await registrar.register()

    async def _end_series(self) -> None:
        """Ends the key's series of the release before the newest."""
        state = self._member.state
        for release in self._member.releases[-2:-1]:
            series = state.batches.series(self._key.public, release.id)
            if series.next_counter and not series.closed and state.releases.is_live(release, state.size):
                await self._post(await self._seal(release, series.next_counter, [], is_final=True))

    async def _seal(self, release: ReleaseInfo, first: int, blocks: Sequence[GameBlock], is_final: bool) -> Envelope:
        """The signed header of these games, whose blob is in the blob store."""
        await self._engine.verify_canaries()
        raw = [block.raw for block in blocks]
        header = BatchHeader.open(seal_batch(self._member, self._key, self._like.kernel, release, first, raw, is_final))
        return replace(header, build=self._like.build, cpu=self._like.cpu).seal(self._key)

    async def _post(self, header: Envelope) -> None:
        await self._member.post(Post(header.encode(), b""))

    # ---- batches

    @property
    def _is_last(self) -> bool:
        """Whether the next batch is the wrong one."""
        return self._sent >= self._ringer.age(self._member.state.manifest.admission)

    @property
    def _sent(self) -> int:
        return sum(
            batch.header.peer == self._key.public and batch.games > 0 for batch in self._member.state.batches.all
        )

    def _is_awaited(self) -> bool:
        """Whether the wrong batch is next and one before it is not decided, on which its share of replay depends."""
        open_by_key = (batch for batch in self._member.state.batches.open if batch.header.peer == self._key.public)
        return self._is_last and any(open_by_key)

    async def _play_batch(self) -> Plan | None:
        """Plays the next batch; has it logged, or where it is the last one made wrong in one ply, gives it."""
        member, is_last = self._member, self._is_last
        await self._end_series()
        release = member.releases[-1]
        games = await self._play(release)
        place = await self._make_wrong(games) if is_last else None
        if is_last and place is None:
            raise CallRefused("No ply of these games can be made wrong.")
        header = await self._seal(release, games.first, games.blocks, is_final=member.releases[-1].id != release.id)
        if place is None:
            await self._post(header)
            return None
        blob = member.blob_store.get(BatchHeader.open(header).blob_digest)
        if blob is None:
            raise CallRefused("The blob of these games is damaged.")
        return Plan(self._ringer.number, header, blob, *place, self._ringer.delay(member.state.manifest.admission))

    async def _play(self, release: ReleaseInfo) -> Games:
        """The games of the key's next batch."""
        state, peer = self._member.state, self._key.public
        first = state.next_counter(peer, release.id)
        series = selfplay_series(state, release, peer)
        player = await self._member.player_of(release)
        counters = range(first, first + state.manifest.admission.games_per_batch)
        games = Games(series, first, [series.job(counter, player) for counter in counters], [])
        for job in games.jobs:
            block = None
            while block is None:
                block = await self._play_one(job)
            games.blocks.append(block)
        return games

    async def _play_one(self, job: Job) -> GameBlock | None:
        """A game, begun when no gate pairs are being played; None where it has no end."""
        await self._player.idle()
        await self._gate.idle()
        done = await self._engine.play(job)
        return GameBlock.parse(done.block) if done.is_ok else None

    # ---- the wrong ply

    async def _make_wrong(self, games: Games) -> tuple[int, int] | None:
        """Makes one ply wrong, so that a replay finds it there and nothing else does; its game and ply, None without any."""
        rng = self._ringer.rng(f"wrong ply of {games.first} {games.series.release.hex()}")
        for _ in range(TRIES):
            number = rng.randrange(len(games.blocks))
            job, block = games.jobs[number], games.blocks[number]
            ply = rng.choice(block.plies)
            edited = await self._edited(job, block, ply, rng.choice((*EDITS, None)), rng)
            if edited is not None and await self._is_wrong_at(games, number, edited, ply):
                games.blocks[number] = edited
                return number, ply
        return None

    async def _edited(self, job: Job, block: GameBlock, ply: int, edit: Edit | None, rng: Random) -> GameBlock | None:
        """The game with an edit at a ply; without one another move is played there, and all else goes on from it."""
        if edit is not None:
            raw = edit(block, ply, rng)
            return None if raw is None else GameBlock.parse(raw)
        rest_job = diverted(job, block, ply, rng)
        rest = None if rest_job is None else await self._play_one(rest_job)
        return None if rest is None else GameBlock.parse(spliced(block, ply, rest))

    async def _is_wrong_at(self, games: Games, number: int, block: GameBlock, ply: int) -> bool:
        """Whether a game passes every check but a replay, which differs at `ply`."""
        setup = games.series.setup(block.header.counter)
        try:
            check_game(block, setup, games.series.search, number)
        except Rejected:
            return False
        done = await self._engine.replay(games.jobs[number], block.raw)
        return done.is_mismatch and done.bad_ply == ply
