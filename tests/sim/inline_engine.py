"""Engines for simulations: games are played in the event loop and last virtual seconds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar, TypeVarTuple

import trio

from native.network import Kernel
from native.pool import Done, Job, Pool
from node.engine.adjourning import name_of
from protocol.game_block import GameBlock
from tests.native.begun import begun_of, plies_of

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

ENGINE_WITHIN_S = 60.0


class InlineEngine:
    """An `Engine`. A game lasts half to one and a half of `game_s`, by its seed; a replay a quarter of that.

    `searched` counts the plies of games, and `finished` has the plies of those played to their end, by `name_of`.
    """

    def __init__(self, kernel: Kernel = Kernel.BEST, game_s: float = 2.0) -> None:
        self._kernel = kernel
        self._game_s = game_s
        self._stopped = trio.Event()
        self.replays = 0
        self.searched = 0
        self.finished: dict[str, int] = {}

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        return await InlineEngine.play_on(self, job, b"")

    async def play_on(self, job: Job, begun: bytes) -> Done:
        """See `Engine.play_on`. The plies of a game come evenly."""
        pool = pool_of(self._kernel)
        pool.play(job, begun)
        done = _next(pool)
        if not done.is_ok:
            return done
        had, began = plies_of(begun), trio.current_time()
        ply_s = self._length_s(job) / done.plies
        with trio.move_on_after(ply_s * (done.plies - had)):
            await self._stopped.wait()
            plies = min(had + int((trio.current_time() - began) / ply_s), done.plies - 1)
            self.searched += plies - had
            left = Done.stopped(job.id)
            return replace(left, plies=plies, block=begun_of(done, plies), digests=done.digests[:plies])
        self.searched += done.plies - had
        self.finished[name_of(job)] = done.plies
        return done

    async def stop(self) -> None:
        """See `Engine.stop`."""
        self._stopped.set()
        self._stopped = trio.Event()
        await trio.lowlevel.checkpoint()

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        await trio.sleep(self._length_s(job) / 4)
        self.replays += 1
        pool = pool_of(self._kernel)
        pool.replay(job, block)
        return _next(pool)

    async def verify_canaries(self) -> None:
        """See `Engine.verify_canaries`. The canaries have tests of their own."""
        await trio.lowlevel.checkpoint()

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """See `Engine.compute`."""
        await trio.lowlevel.checkpoint()
        return function(*arguments)

    def _length_s(self, job: Job) -> float:
        return self._game_s * (0.5 + job.game_seed[0] / 256)


class EditingEngine(InlineEngine):
    """An engine that changes the self-play games which it plays, from number `first` on; `change` gives the new block."""

    def __init__(self, change: Callable[[GameBlock], bytes], first: int = 0, game_s: float = 2.0) -> None:
        super().__init__(game_s=game_s)
        self._change = change
        self._first = first

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        done = await super().play(job)
        is_gate = job.black.release != job.white.release
        if is_gate or job.counter < self._first or not done.is_ok:
            return done
        block = self._change(GameBlock.parse(done.block))
        return Done(done.id, done.status, done.bad_ply, done.plies, done.visits, done.evaluations, block, done.digests)


@cache
def pool_of(kernel: Kernel) -> Pool:
    """The one pool of a kernel; the loop waits for each job, so it never holds two."""
    return Pool(1, kernel)


def _next(pool: Pool) -> Done:
    done = pool.wait(ENGINE_WITHIN_S)
    assert done is not None, "the engine did not finish a game"
    return done
