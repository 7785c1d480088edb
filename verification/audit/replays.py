"""Audit, a part of gate and games: games played again bit for bit, a few at a time, and a memory of those that were right.

Spec: `docs/spec/audit.md` ("Sampling"). A game is remembered by its number, its entry, the root hash of the log up to that
entry, and the kernel: together these say everything that its replay depends on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, Protocol

from native.network import Kernel
from native.pool import Done, Job, Pool
from protocol.game_block import GameBlock
from verification.audit.folder import AuditFault
from verification.replay import Mismatch, name_mismatch
from verification.state import LogState

IN_FLIGHT: Final = 4
"""Games given to the engine at once, a thread: so few that an interrupted audit loses little."""

LOOK_S: Final = 0.5
"""The longest wait for a game before the interpreter sees a Ctrl-C."""

_DOMAIN: Final = b"gonode/replayed/v1\0"


class Memory(Protocol):
    """The replays that were right before, by their keys."""

    def knows(self, key: bytes) -> bool:
        """Whether a game was replayed."""
        ...

    def keep(self, key: bytes) -> None:
        """Remembers a game that was replayed just now, and was right."""
        ...


class NoMemory:
    """Nothing was replayed before, and nothing is kept."""

    def knows(self, key: bytes) -> bool:
        """See `Memory`."""
        return False

    def keep(self, key: bytes) -> None:
        """See `Memory`."""


@dataclass(frozen=True, slots=True)
class Task:
    """A game to replay: the key it is remembered by, what to call its batch, its number there, its job and its block."""

    key: bytes
    name: str
    number: int
    job: Job
    block: GameBlock


def replay_key(state: LogState, index: int, number: int, kernel: Kernel) -> bytes:
    """What game `number` of the batch or gate result at an entry is remembered by, once this kernel replayed it."""
    name = (Kernel.best() if kernel == Kernel.BEST else kernel).encode().encode("ascii")
    root = state.tree.root(index + 1)
    return sha256(
        b"".join((_DOMAIN, name, b"\0", root, index.to_bytes(8, "little"), number.to_bytes(4, "little")))
    ).digest()


def replay(tasks: Iterable[Task], kernel: Kernel, threads: int, memory: Memory, step: Callable[[int], None]) -> None:
    """Replays games, taken from `tasks` as threads get free; `step` is told how many are done. Raises AuditFault."""
    running: dict[int, Task] = {}
    waiting = enumerate(tasks)
    done = 0
    step(done)
    with Pool(threads, kernel) as pool:
        while True:
            while len(running) < IN_FLIGHT * threads and (following := next(waiting, None)) is not None:
                number, task = following
                running[number] = task
                pool.replay(replace(task.job, id=number), task.block.raw)
            if not running:
                return
            finished = pool.wait(LOOK_S)
            if finished is not None:
                task = running.pop(finished.id)
                _verify(task, finished, kernel)
                memory.keep(task.key)
                done += 1
                step(done)


def _verify(task: Task, done: Done, kernel: Kernel) -> None:
    """Raises AuditFault unless the replay gave the block."""
    if done.is_mismatch:
        mismatch = Mismatch(task.number, done.bad_ply if done.bad_ply >= 0 else None)
        raise AuditFault(f"The {task.name} is wrong: {name_mismatch(task.job, task.block, mismatch, kernel)}")
    if not done.is_ok:
        raise AuditFault(f"A game of the {task.name} could not be replayed: {done.sentence}")
