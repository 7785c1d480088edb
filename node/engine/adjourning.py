"""Games that are put down in the middle, kept on disk, and taken up again: when play rests, and over a drain and a start.

Spec: `docs/spec/pipe.md` ("Begun games"). Nothing passes from ply to ply but moves, so a game that is taken up is, bit for
bit, the game that it would have been. Invariants: while somebody holds play nothing is computed but canaries; a game that is
stopped is on disk before the next thing happens; what is kept of a game stays until the game is finished and in its place,
or its release is out of use.
"""

from collections.abc import Callable, Collection
from functools import partial
from hashlib import sha256
from typing import Final, TypeVar, TypeVarTuple

import trio

from native.pool import Done, Job
from node.disk.store import Store
from node.engine.engine import Engine

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

BEGUN: Final = "begun/"
"""In the store: the release of black, that of white, the game's counter, its seed; the value is a SHA-256 and the plies."""

_HASH_BYTES: Final = 32


class AdjourningEngine:
    """An `Engine` whose games rest while anybody holds play, and come back as stopped after `end`; `run` is its service.

    `finished` counts the games that were played to their end, `held_since` is on trio's clock.
    """

    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine = engine
        self._store = store
        self._holds: dict[str, str] = {}
        self._is_ended = False
        self._rests = 0
        self._playing = 0
        self._changed = trio.Event()
        self._finished: list[str] = []
        self.finished = 0
        self.held_since: float | None = None

    # ---- play and rest

    @property
    def holds(self) -> tuple[str, ...]:
        """Why play rests, a sentence's end for each who holds it; empty while it goes on."""
        return tuple(self._holds.values())

    def hold(self, who: str, why: str) -> None:
        """Has play rest until `who` releases it, and everybody else who holds it."""
        if not self._holds:
            self.held_since = trio.current_time()
            self._rests += 1
        self._holds[who] = why
        self._change()

    def release(self, who: str) -> None:
        """`who` holds play no more."""
        self._holds.pop(who, None)
        if not self._holds:
            self.held_since = None
        self._change()

    def end(self) -> None:
        """Stops play for good: every game comes back as stopped, those that wait for play to go on as well."""
        self._is_ended = True
        self._rests += 1
        self._change()

    async def put_down(self) -> None:
        """Ends play as `end`, and returns when every game that was under way is on disk."""
        self.end()
        await self._engine.stop()
        await self._until(lambda: not self._playing)

    async def run(self) -> None:
        """Stops the engine's games whenever play rests or ends, until cancelled."""
        stopped = 0
        while True:
            await self._until(partial(self._has_rested_since, stopped))
            stopped = self._rests
            self._forget_finished()
            await self._engine.stop()

    def _has_rested_since(self, rests: int) -> bool:
        return self._rests != rests

    async def until_play(self) -> None:
        """Returns once nobody holds play, or after `end`."""
        await self._until(lambda: self._is_ended or not self._holds)

    async def change_within(self, seconds: float) -> None:
        """Returns when a game is finished, when play rests or goes on, or after `seconds`."""
        with trio.move_on_after(seconds):
            await self._changed.wait()

    # ---- Engine

    async def play(self, job: Job) -> Done:
        """See `Engine.play`; goes on where the game was put down. It is stopped only after `end`."""
        name = name_of(job)
        while True:
            await self.until_play()
            if self._is_ended:
                return Done.stopped(job.id)
            done = await self._play(job, self._kept(name))
            if not done.is_stopped:
                self._finished.append(name)
                return done
            if done.begun:
                self._store.put(name, sha256(done.begun).digest() + done.begun)

    async def _play(self, job: Job, begun: bytes) -> Done:
        self._playing += 1
        try:
            done = await (self._engine.play_on(job, begun) if begun else self._engine.play(job))
            self.finished += not done.is_stopped
            return done
        finally:
            self._playing -= 1
            self._change()

    async def play_on(self, job: Job, begun: bytes) -> Done:
        """See `Engine.play_on`."""
        return await self._engine.play_on(job, begun)

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        return await self._engine.replay(job, block)

    async def verify_canaries(self) -> None:
        """See `Engine.verify_canaries`; also while play rests, so that what is finished can be sent; the rest goes on."""
        await self._engine.verify_canaries()
        if self._holds:
            self._rests += 1
            self._change()

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """See `Engine.compute`; rests as play does."""
        await self.until_play()
        return await self._engine.compute(function, *arguments)

    async def stop(self) -> None:
        """See `Engine.stop`."""
        await self._engine.stop()

    # ---- what is kept

    def begun(self, release: bytes) -> list[tuple[int, bytes]]:
        """Counter and seed of the games of self-play under `release` that are kept, whoever's seeds they have."""
        parts = (name.rsplit("/", 2) for name in self._store.names(f"{BEGUN}{release.hex()}/{release.hex()}/"))
        return [(int(counter, 16), bytes.fromhex(seed)) for _, counter, seed in parts]

    def sweep(self, releases: Collection[bytes]) -> None:
        """Forgets what is finished, and the games in which none of these releases plays."""
        self._forget_finished()
        used = {release.hex() for release in releases}
        for name in self._store.names(BEGUN):
            if used.isdisjoint(name.split("/")[1:3]):
                self._store.delete(name)

    def forget_all(self) -> None:
        """Forgets every game that was put down: they are played from their start."""
        for name in self._store.names(BEGUN):
            self._store.delete(name)

    def _kept(self, name: str) -> bytes:
        """The plies under `name`; empty when there are none, or the disk has damaged them."""
        value = self._store.get(name) or b""
        digest, begun = value[:_HASH_BYTES], value[_HASH_BYTES:]
        return begun if sha256(begun).digest() == digest else b""

    def _forget_finished(self) -> None:
        """Not when a game comes back, for it is not on disk yet."""
        finished, self._finished = self._finished, []
        for name in finished:
            self._store.delete(name)

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _until(self, condition: Callable[[], bool]) -> None:
        await trio.lowlevel.checkpoint()
        while not condition():
            await self._changed.wait()


def name_of(job: Job) -> str:
    """Where a game is kept: releases and seed determine it, and the seed the search's config too (docs/spec/seeds.md)."""
    return f"{BEGUN}{job.black.release.hex()}/{job.white.release.hex()}/{job.counter:016x}/{job.game_seed.hex()}"
