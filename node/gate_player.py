"""Plays gate pairs that the log assigns to this node's key, before any other game.

Spec: `docs/spec/gate.md`. Contributors and the coordinator's own player use it alike. Invariants: a finished game is on disk
before the next thing happens; results go out through the outbox, none before the engine's canaries came out;
what the log does not wait for any more is not played on.
"""

from typing import Final

import trio

from native.pool import Job
from node.engine.engine import Engine
from node.member import Member
from node.networks import NetworkFault
from node.outbox import GATE_RESULT, Outbox
from node.peering.transport import TransportError
from node.reminder import Reminder
from protocol.batch import batch_root, encode_batch, parse_batch
from protocol.compress import compress
from protocol.ed25519 import SecretKey
from protocol.gate import GateAssignment, GatePair, GateResult
from protocol.words import counted
from verification.setup import gate_jobs

AGAIN_S = 5.0
GAMES: Final = "gate-game/"
"""Where finished games are kept: the assignment's log index, the game's number in it."""


class GatePlayer:
    """Answers gate assignments to `secret`'s key."""

    def __init__(self, member: Member, secret: SecretKey, engine: Engine, outbox: Outbox) -> None:
        self._member = member
        self._secret = secret
        self._engine = engine
        self._outbox = outbox
        self._is_draining = False
        self._idle = trio.Event()
        self._idle.set()

    def drain(self) -> None:
        """Begins nothing more; finished games of what is begun stay on disk."""
        self._is_draining = True

    def forget_games(self) -> None:
        """Forgets every kept game: they are played again."""
        for name in self._member.store.names(GAMES):
            self._member.store.delete(name)

    async def idle(self) -> None:
        """Returns at once, or when the assignment being played is done."""
        await self._idle.wait()

    async def run(self) -> None:
        """Plays assignments as the log gives them, until cancelled."""
        reminder = Reminder(self._member.events)
        while True:
            self._sweep()
            index, assignment = await self._member.until(self._open_assignment)
            self._idle = trio.Event()
            try:
                await self._play(index, assignment)
                reminder.forget()
                continue
            except (NetworkFault, TransportError) as error:
                pause_s = self._member.jitter(AGAIN_S)
                text = f"Gate pairs from {assignment.first_pair} cannot be played yet, other games go on: {error}"
                reminder.say(text, pause_s)
            finally:
                self._idle.set()
            await trio.sleep(pause_s)

    def _sweep(self) -> None:
        """Forgets the games of assignments that are over."""
        places = tuple(_place(index) for index, _ in self._member.state.gate_assignments(self._secret.public))
        for name in self._member.store.names(GAMES):
            if not name.startswith(places):
                self._member.store.delete(name)

    def _open_assignment(self) -> tuple[int, GateAssignment] | None:
        if self._is_draining:
            return None
        for index, assignment in self._member.state.gate_assignments(self._secret.public):
            is_new = self._member.store.get(f"gate/{index}") is None
            is_witnessed = assignment.candidate < self._member.cosigned_size
            if is_new and is_witnessed and self._member.state.beacon(assignment.candidate) is not None:
                return index, assignment
        return None

    async def _play(self, index: int, assignment: GateAssignment) -> None:
        member = self._member
        candidate, base = await member.gate_players(assignment)
        jobs = gate_jobs(member.state, assignment, candidate, base)
        games = [member.store.get(_game(index, number)) for number in range(len(jobs))]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._give_up, index, nursery.cancel_scope)
            async with trio.open_nursery() as playing:
                for number, job in enumerate(jobs):
                    if games[number] is None:
                        playing.start_soon(self._play_one, _game(index, number), job)
            nursery.cancel_scope.cancel()
        games = [member.store.get(_game(index, number)) for number in range(len(jobs))]
        blocks = [game for game in games if game is not None]
        if len(blocks) != len(jobs) or not self._is_wanted(index):
            return
        await self._engine.verify_canaries()
        raw = encode_batch(blocks)
        batch = parse_batch(raw)
        blob = compress(raw)
        results = [block.header.result for block in batch.games]
        result = GateResult(
            run=member.state.run,
            assignment=index,
            player=self._secret.public,
            pairs=tuple(GatePair(*results[at : at + 2]) for at in range(0, len(results), 2)),
            batch_root=batch_root(batch),
            blob_digest=member.blob_store.put(blob),
            blob_len=len(blob),
            raw_len=len(raw),
        )
        with member.store.transaction():
            member.store.put(f"gate/{index}", b"")
            for number in range(len(jobs)):
                member.store.delete(_game(index, number))
            self._outbox.put(GATE_RESULT, index.to_bytes(8, "big"), result.seal(self._secret))
        member.events("gate-pairs", f"Played {counted(assignment.pairs, 'gate pair')} from {assignment.first_pair}.")

    def _is_wanted(self, index: int) -> bool:
        return any(index == each for each, _ in self._member.state.gate_assignments(self._secret.public))

    async def _give_up(self, index: int, games: trio.CancelScope) -> None:
        await self._member.until(lambda: None if self._is_wanted(index) else True)
        games.cancel()

    async def _play_one(self, name: str, job: Job) -> None:
        done = await self._engine.play(job)
        if done.is_ok:
            self._member.store.put(name, done.block)


def _place(index: int) -> str:
    return f"{GAMES}{index:016x}/"


def _game(index: int, number: int) -> str:
    return f"{_place(index)}{number:04x}"
