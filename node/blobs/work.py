"""Where blobs are hashed, read and written: in a thread, so that the network goes on, or here, where a clock is virtual.

A virtual clock jumps while a thread works, so simulations work `here`.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple, Unpack

import trio

T = TypeVar("T")
Args = TypeVarTuple("Args")


class Work(Protocol):
    """Calls a function that may take long, and gives what it returns."""

    async def __call__(self, function: Callable[[Unpack[Args]], T], *args: *Args) -> T:
        """What `function` returns for `args`; its exception leaves as it is."""


async def here(function: Callable[[Unpack[Args]], T], *args: *Args) -> T:
    """Calls a function at once; nothing else runs meanwhile."""
    await trio.lowlevel.checkpoint()
    return function(*args)


async def in_thread(function: Callable[[Unpack[Args]], T], *args: *Args) -> T:
    """Calls a function in a thread; it ends also when nobody waits for it any more."""
    return await trio.to_thread.run_sync(function, *args)
