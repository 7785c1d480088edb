"""The contributor: plays the games that its seeds give, signs them as batches, keeps each until its receipt.

Spec: `docs/spec/batch.md`, `docs/spec/registration.md`. Invariants: a finished game is on disk before the next thing
happens; counters are contiguous; only releases that enough witnesses cosigned are played; a batch leaves the outbox only
with a receipt or a refusal that names why; gate games come first, then what this key is asked to fill in; nothing is
signed before the engine's canaries came out; a game in flight is put down at its ply when play rests or ends, and taken up
later.
"""

from collections.abc import Callable
from functools import partial

import trio

from native.pool import Done
from native.search import Player
from node.contributor.fill_player import FillPlayer
from node.contributor.registrar import Registrar
from node.contributor.sealing import seal_batch
from node.contributor.today import Today
from node.disk.store import Series
from node.engine.adjourning import AdjourningEngine
from node.engine.engine import Engine
from node.gate_player import GatePlayer
from node.guest.rest import Rest
from node.member import Member
from node.networks import NetworkFault
from node.outbox import BATCH, Outbox
from node.own_status import queue_of
from node.peering.transport import TransportError
from node.reminder import Reminder
from node.status import Queue
from protocol.admission import REJECTED
from protocol.ed25519 import SecretKey
from protocol.game_block import GameHeader
from protocol.words import counted
from verification.releases import ReleaseInfo
from verification.setup import selfplay_job, selfplay_series

AGAIN_S = 5.0

MOST_WAITING = 256
"""Batches that may wait in the outbox; play is paused when so many do, until a quarter of them is gone.

A coordinator takes so many in a few minutes, while releases are minutes apart and a batch counts until its release is two
old; whoever is cut off plays on for hours before so many wait.
"""


class Expelled(Exception):
    """One sentence: why the run takes nothing more from this key."""


class Contributor:
    """One contributing node; `run` returns when a drain is complete."""

    DRAINING = (
        "Draining: games in flight are kept for the next start and what is complete is sent, then this node ends."
    )

    def __init__(
        self,
        member: Member,
        secret: SecretKey,
        engine: Engine,
        kernel: str,
        in_flight: int,
        invite: bytes,
        name: str,
        recovery_hash: bytes = b"",
    ) -> None:
        self._member = member
        self._secret = secret
        self.engine = AdjourningEngine(engine, member.store)
        self.rest = Rest(self.engine, member, secret.public)
        self._kernel = kernel
        self._in_flight = in_flight
        self._registrar = Registrar(member, secret, self.engine, invite, name, recovery_hash, self.engine.until_play)
        self.outbox = Outbox(member)
        self._gate = GatePlayer(member, secret, self.engine, self.outbox)
        self._fills = FillPlayer(member, secret, self.engine, kernel, self.outbox, self._gate)
        self._draining = trio.Event()
        self._packing = trio.Lock()
        self.today = Today(member)
        self.games = 0
        self.plies = 0
        self.visits = 0
        self.paused_since: float | None = None
        self._began = trio.current_time()

    @property
    def queues(self) -> list[Queue]:
        """For `gonode status`: the finished games, and why play is paused; before, what the registration waits for."""
        member = self._member
        if (reason := self._registrar.waiting_for) is not None:
            return [queue_of(member, "registration", 1, reason, self._began)]
        kept = sum(member.store.games_count(release.id) for release in member.releases[-2:])
        if self.engine.holds:
            return [queue_of(member, "games", kept, "; ".join(self.engine.holds), self.engine.held_since)]
        if self.paused_since is None:
            return [queue_of(member, "games", kept, None, None)]
        waiting_for = f"fewer than {_go_on_below()} batches that wait to be logged; play is paused"
        return [queue_of(member, "games", kept, waiting_for, self.paused_since)]

    def drain(self) -> None:
        """Put the games in flight down, send what is complete, then let `run` return."""
        self.paused_since = None
        self._draining.set()
        self._gate.drain()
        self._fills.drain()
        self.engine.end()
        self._member.wake()

    async def put_down(self) -> None:
        """As `drain`, for who does not wait for `run` to return: returns when the games in flight are on disk."""
        self.drain()
        await self.engine.put_down()

    async def run(self) -> None:
        """Registers if need be and plays until drained; raises RegistrationRefused, Expelled, WrongMachine."""
        keep = self._member.services.keep
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep, "resting", self.engine.run)
            if await self._register():
                await self._contribute()
            nursery.cancel_scope.cancel()

    async def _contribute(self) -> None:
        """Plays and sends until drained."""
        self._drop_doubtful()
        async with trio.open_nursery() as nursery:
            keep = self._member.services.keep
            nursery.start_soon(keep, "outbox", self.outbox.run)
            nursery.start_soon(keep, "gate-player", self._gate.run)
            nursery.start_soon(keep, "fill-player", self._fills.run)
            nursery.start_soon(self._watch_standing)
            await keep("playing", self._play)
            await self._gate.idle()
            await self._fills.idle()
            await self.outbox.until_empty()
            nursery.cancel_scope.cancel()

    async def _register(self) -> bool:
        """Registers; False when a drain came first."""
        async with trio.open_nursery() as nursery:

            async def give_up() -> None:
                await self._draining.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(give_up)
            await self._registrar.register()
            nursery.cancel_scope.cancel()
            return True
        return False

    def _drop_doubtful(self) -> None:
        """Forgets kept games when a canary failed after they were played; this machine, well again, plays them anew."""
        fault = self._member.home.fault
        if fault.exists():
            self._member.store.drop_all_games()
            self._gate.forget_games()
            self._fills.forget_games()
            self.engine.forget_all()
            fault.unlink()

    async def _watch_standing(self) -> None:
        """Ends this node once a rejection or a ban makes all of its work vain."""
        state, key = self._member.state, self._secret.public
        await self._member.until(lambda: True if state.batches.is_out(key) else None)
        successor = state.registry.successor(key)
        if successor is not None:
            raise Expelled(f"This key is replaced: its contributor goes on under the key {successor.hex()}.")
        reasons = (
            batch.decision.reason
            for batch in state.batches.all
            if batch.header.peer == key and batch.decision is not None and batch.decision.outcome == REJECTED
        )
        reason = next(reasons, "it is banned")
        if state.registry.has_lost_slot(key):
            reason = "it sent no batch in time and lost its probation slot; join with another key (--dir DIR)."
        raise Expelled(f"This run takes nothing more from this key: {reason}")

    async def _play(self) -> None:
        member, reminder = self._member, Reminder(self._member.events)
        while not self._draining.is_set():
            release = self._release_to_play()
            try:
                player = await member.player_of(release)
            except (NetworkFault, TransportError) as error:
                pause_s = member.jitter(AGAIN_S)
                reminder.say(f"Play waits for the network of release {release.name}: {error}", pause_s)
                with trio.move_on_after(pause_s):
                    await self._draining.wait()
            else:
                reminder.forget()
                await self._play_release(release, player)

    def _release_to_play(self) -> ReleaseInfo:
        """The newest release; first the one before, while games of it that an end kept from their batch can be sent."""
        member = self._member
        for previous in member.releases[-2:-1]:
            is_open = member.state.releases.is_live(previous, member.state.size)
            if is_open and not member.store.series(previous.id).ended and self._kept(previous):
                return previous
        return member.releases[-1]

    def _kept(self, release: ReleaseInfo) -> set[int]:
        """The counters of own games that are finished or begun, and in no batch."""
        store, first = self._member.store, self._member.store.series(release.id).counter
        series = selfplay_series(self._member.state, release, self._secret.public)
        begun = self.engine.begun(release.id)
        counters = {counter for counter, seed in begun if counter >= first and series.setup(counter).seed == seed}
        return counters | {counter for counter, _ in store.games(release.id)}

    async def _play_release(self, release: ReleaseInfo, player: Player) -> None:
        """Plays under one release until another is there; then closes the series with a final batch.

        Games that an end cut off are played before kept ones with later counters, also when the release is not the newest.
        It returns as well when a batch was lost before it was sent: its games have to be played again first.
        """
        member = self._member
        key = self._secret.public
        lost = self.outbox.lost
        series = member.store.series(release.id)
        first = max(series.counter, member.state.next_counter(key, release.id))
        if first > series.counter:
            with member.store.transaction():
                member.store.put_series(Series(release.id, first, series.ended))
                member.store.drop_games(release.id, first)  # the log has them: another copy of this key sent them
        kept = {counter for counter, _ in member.store.games(release.id)}
        last_kept = max(self._kept(release), default=-1)
        in_use = {release.id for release in member.releases[-2:]}
        member.store.keep_games(in_use)
        self.engine.sweep(in_use | {f.release for f in member.state.fills.open})

        def is_wanted(counter: int) -> bool:
            is_newest = member.releases[-1].id == release.id
            is_set_back = self.outbox.lost > lost
            return not self._draining.is_set() and not is_set_back and (is_newest or counter <= last_kept)

        await self._pack(release, final=False)
        slots = trio.Semaphore(self._in_flight)
        begun = len(self._kept(release) - kept)
        text = f"Playing with release {release.name}{_goes_on(begun, len(kept))}."
        member.events("playing", text, release=release.name, counter=first, begun=begun, kept=len(kept))
        counter = first
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._give_up, release, nursery.cancel_scope)
            async with trio.open_nursery() as games:
                while is_wanted(counter):
                    if counter not in kept:
                        await slots.acquire()
                        await self._pause(partial(is_wanted, counter))
                        if not is_wanted(counter):
                            break
                        games.start_soon(self._play_one, release, player, counter, slots)
                    counter += 1
            nursery.cancel_scope.cancel()
        if member.releases[-1].id != release.id and self._is_played(release, max(counter, last_kept + 1)):
            await self._pack(release, final=True)

    async def _give_up(self, release: ReleaseInfo, games: trio.CancelScope) -> None:
        """Cancels games once another release is played and none of theirs can be logged any more: after a long rest, say."""
        member = self._member

        def is_over() -> bool:
            return member.releases[-1].id != release.id and not member.state.releases.is_live(
                release, member.state.size
            )

        await member.until(lambda: True if is_over() else None)
        games.cancel()

    def _is_played(self, release: ReleaseInfo, below: int) -> bool:
        """Whether each own game with a counter below is finished, or in a batch."""
        first = self._member.store.series(release.id).counter
        return first + len(_contiguous(self._member.store.games(release.id), first)) >= below

    async def _pause(self, is_wanted: Callable[[], bool]) -> None:
        """Waits while too many batches wait, as long as more games are wanted at all; a new release does not end a pause."""
        member = self._member
        while is_wanted():
            waiting = member.store.waiting_count(BATCH)
            if self.paused_since is None and waiting >= MOST_WAITING:
                self.paused_since = trio.current_time()
                member.events("waiting", f"Play is paused: {MOST_WAITING} batches wait to be logged. Nothing is lost.")
            elif self.paused_since is not None and waiting < _go_on_below():
                self.paused_since = None
                member.events("waiting", "Play goes on.")
            if self.paused_since is None:
                return
            await member.change_within(1.0)

    async def _play_one(self, release: ReleaseInfo, player: Player, counter: int, slots: trio.Semaphore) -> None:
        member = self._member
        try:
            await self._gate.idle()
            await self._fills.idle()
            job = selfplay_job(member.state, release, self._secret.public, counter, player)
            done = await self.engine.play(job)
        finally:
            slots.release()
        if not done.is_ok:
            return
        with member.store.transaction():
            member.store.put_game(release.id, counter, done.block)
            self.today.add(done.plies)
        self.games += 1
        self.plies += done.plies
        self.visits += done.visits
        self._tell(counter, done)
        await self._pack(release, final=False)

    def _tell(self, counter: int, done: Done) -> None:
        result = GameHeader.parse(done.block).outcome
        self._member.events(
            "game",
            f"Game {counter} finished after {done.plies} plies: {result}.",
            counter=counter,
            plies=done.plies,
            visits=done.visits,
            result=result,
        )

    async def _pack(self, release: ReleaseInfo, final: bool) -> None:
        """Makes batches of the contiguous finished games; a final one holds whatever is left, also nothing."""
        member = self._member
        per_batch = member.state.manifest.admission.games_per_batch
        async with self._packing:
            while True:
                series = member.store.series(release.id)
                if series.ended:
                    return
                blocks = _contiguous(member.store.games(release.id), series.counter)
                last = final and len(blocks) < per_batch
                if len(blocks) < per_batch and not last:
                    return
                await self.engine.verify_canaries()
                if member.store.series(release.id) != series:
                    continue  # a batch before these games was lost meanwhile: its counters come first
                self._seal(release, series.counter, blocks if last else blocks[:per_batch], last)
                if last:
                    return

    def _seal(self, release: ReleaseInfo, first: int, blocks: list[bytes], final: bool) -> None:
        member = self._member
        envelope = seal_batch(member, self._secret, self._kernel, release, first, blocks, final)
        with member.store.transaction():
            self.outbox.put(BATCH, envelope.digest, envelope)
            member.store.put_series(Series(release.id, first + len(blocks), final))
            member.store.drop_games(release.id, first + len(blocks))


def _goes_on(begun: int, kept: int) -> str:
    """What of an earlier start is gone on with, in words; empty where that is nothing."""
    games = ((begun, "game", "in flight"), (kept, "finished game", "not sent yet"))
    parts = [f"{counted(number, noun)} {where}" for number, noun, where in games if number]
    return f", going on with what is kept: {', '.join(parts)}" if parts else ""


def _go_on_below() -> int:
    """Play that is paused goes on once fewer batches wait: not at the first that is logged, or it would pause each time."""
    return MOST_WAITING - MOST_WAITING // 4


def _contiguous(games: list[tuple[int, bytes]], start: int) -> list[bytes]:
    blocks: list[bytes] = []
    for counter, block in games:
        if counter != start + len(blocks):
            break
        blocks.append(block)
    return blocks
