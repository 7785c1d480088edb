"""Worker processes that do one task for this one, item after item, in order: `Crew`.

A worker is a plain process that imports no torch (`trainer.data.worker`); what it needs comes over a socket of its own. What
it does not do any more, because it died or does not answer, is done here: a crew of any size, and one that dies, gives the
same results. Workers take no signal from the terminal and end when their socket closes, so none outlives this process.
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

ANSWERS_WITHIN_S: Final = 120.0
_ENDS_WITHIN_S: Final = 5.0


class Worker:
    """One process. Each item sent gives one result, in order; OSError or EOFError once it is gone."""

    def __init__(self, descriptors: Sequence[int], within_s: float) -> None:
        """Starts it; `descriptors` are open files that its task needs, under the same numbers. The task is sent first.
        One that takes or gives nothing for `within_s` counts as gone."""
        ours, theirs = socket.socketpair()
        limit = struct.pack("ll", *divmod(int(within_s * 1e6), 10**6))
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, limit)
        self.connection = Connection(ours.detach())
        with theirs:
            number = theirs.fileno()
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "trainer.data.worker", str(number)],  # -P: not from the current folder
                pass_fds=[number, *descriptors],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # what it fails at is tried here again, and told of then
                process_group=0,  # what the terminal sends goes to the trainer alone
                env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )

    def end(self) -> int:
        """Lets it end, makes it end if it does not; its exit status."""
        self.connection.close()
        try:
            return self.process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Crew(Generic[Item, Result]):
    """Does `task` for items in `count` processes, or in this one (0)."""

    def __init__(
        self,
        task: Callable[[Item], Result],
        count: int,
        tell: Callable[[str], None],
        *,
        ahead: int,
        descriptors: Sequence[int] = (),
        answers_within_s: float = ANSWERS_WITHIN_S,
    ) -> None:
        """`task` can be pickled; each worker is given up to `ahead` items before the first result is taken."""
        self._task, self._tell, self._ahead, self._within_s = task, tell, ahead, answers_within_s
        self._workers: list[Worker] = []
        try:
            for _ in range(count):
                self._workers.append(Worker(descriptors, answers_within_s))
        except OSError as error:
            tell(f"A data worker cannot be started ({error.strerror}); the trainer does its part itself.")
        for worker in tuple(self._workers):
            self._send(worker, task)

    @property
    def pids(self) -> list[int]:
        """The processes that are left."""
        return [worker.process.pid for worker in self._workers]

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """The results in the items' order. Items are taken as results are asked for, `ahead` a worker before them.

        Raises what the task raises here; one map at a time.
        """
        rest = iter(items)
        pending: deque[tuple[Item, Worker | None]] = deque()
        turn = 0
        while True:
            while len(pending) < max(1, self._ahead * len(self._workers)):
                for item in rest:
                    worker = self._workers[turn % len(self._workers)] if self._workers else None
                    turn += 1
                    pending.append((item, worker if worker is not None and self._send(worker, item) else None))
                    break
                else:
                    break
            if not pending:
                return
            yield self._result(*pending.popleft())

    def _send(self, worker: Worker, item: object) -> bool:
        try:
            worker.connection.send(item)
        except OSError:
            self._lose(worker)
            return False
        return True

    def _result(self, item: Item, worker: Worker | None) -> Result:
        if worker is not None and worker in self._workers:
            try:
                if worker.connection.poll(self._within_s):
                    found: Any = worker.connection.recv()
                    return found  # type: ignore[no-any-return]
            except (OSError, EOFError):
                pass
            self._lose(worker)
        return self._task(item)

    def _lose(self, worker: Worker) -> None:
        """Of a worker that is gone or silent; told once."""
        self._workers.remove(worker)
        worker.process.kill()
        status = worker.end()
        self._tell(f"A data worker ended (status {status}); the trainer does its part itself.")

    def close(self) -> None:
        """Ends the workers."""
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def __enter__(self) -> Crew[Item, Result]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
