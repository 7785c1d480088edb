"""The engine as roles see it: games go in, finished games come out, the network loop never waits.

`PoolEngine` runs the C pool in threads that hold no interpreter lock. Roles take any `Engine`, so that simulations can run
one inline on a virtual clock.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol, TypeVar, TypeVarTuple

import trio

from native.network import Kernel
from native.pool import Done, Job, Pool

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Engine(Protocol):
    """Everything that computes for long. A job's networks must outlive it."""

    async def play(self, job: Job) -> Done:
        """The finished game of a job; its status is OK or STOPPED."""
        ...

    async def replay(self, job: Job, block: bytes) -> Done:
        """Replays a game block against what the job would play; status OK, MISMATCH or STOPPED."""
        ...

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """What a function of the trust core returns or raises, such as the checks of a whole batch."""
        ...


class PoolEngine:
    """The C pool behind trio. Any number of tasks may wait for games at once; `threads` of them run."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: dict[int, trio.MemorySendChannel[Done]] = {}
        self._next_id = 0
        self._added = trio.Event()

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        return await self._submit(job, None)

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        return await self._submit(job, block)

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """See `Engine.compute`."""
        return await trio.to_thread.run_sync(function, *arguments)

    async def _submit(self, job: Job, block: bytes | None) -> Done:
        self._next_id += 1
        number = self._next_id
        send, receive = trio.open_memory_channel[Done](1)
        self._waiting[number] = send
        try:
            if block is None:
                self._pool.play(replace(job, id=number))
            else:
                self._pool.replay(replace(job, id=number), block)
            self._added.set()
            return await receive.receive()
        finally:
            del self._waiting[number]

    async def run(self) -> None:
        """Hands finished games to the tasks that wait for them; runs until cancelled."""
        while True:
            if not self._waiting:
                self._added = trio.Event()
                await self._added.wait()
            done = await trio.to_thread.run_sync(self._pool.wait, 0.5)
            channel = self._waiting.get(done.id) if done is not None else None
            if done is not None and channel is not None:
                channel.send_nowait(done)


@asynccontextmanager
async def open_engine(kernel: Kernel, threads: int) -> AsyncIterator[PoolEngine]:
    """A running engine; on exit games in flight are stopped and their threads joined."""
    pool = Pool(threads, kernel)
    engine = PoolEngine(pool)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(engine.run)
            yield engine
            pool.stop()
            nursery.cancel_scope.cancel()
    finally:
        pool.stop()
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 30):
            await trio.to_thread.run_sync(pool.close)
