"""Engines for simulations: games are played in the event loop and last virtual seconds."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar, TypeVarTuple

import trio

from native.network import Kernel
from native.pool import Done, Job, Pool
from protocol.game_block import GameBlock

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

ENGINE_WITHIN_S = 60.0


class InlineEngine:
    """An `Engine`. A game lasts half to one and a half of `game_s`, by its seed; a replay a quarter of that."""

    def __init__(self, kernel: Kernel = Kernel.BEST, game_s: float = 2.0) -> None:
        self._kernel = kernel
        self._game_s = game_s
        self.replays = 0

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        await trio.sleep(self._length_s(job))
        pool = pool_of(self._kernel)
        pool.play(job)
        return _next(pool)

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
        if is_gate or job.counter < self._first:
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
