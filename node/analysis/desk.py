"""Who works on what: `Desk`, tasks by priority and the threads that search them.

Invariants: of the tasks that wait the one of the highest priority is taken first, the earliest among equals; a task that
was ended holds no other one up: while its search, which cannot be stopped, goes on, another thread takes its place, as
long as no more than twice the threads are at work.
"""

import heapq
import threading
from collections.abc import Callable, Iterable

from native.errors import EngineError
from node.analysis.task import Task
from node.play.pace import Pace
from node.play.searcher import Searcher


class Desk:
    """Tasks and `threads` that search them with one player."""

    def __init__(self, searcher: Searcher, threads: int, on_fault: Callable[[BaseException], None]) -> None:
        """`on_fault` hears of errors that are the program's, which a thread ended with."""
        self._searcher = searcher
        self._threads = threads
        self._on_fault = on_fault
        self._pace = Pace()
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, Task]] = []
        self._open: dict[int, Task] = {}
        self._number = 0
        self._working: set[int] = set()
        self._late: set[int] = set()
        self._workers = 0
        self._is_closed = False

    def add(self, tasks: Iterable[tuple[int, Task]]) -> None:
        """Tasks, each with its priority."""
        with self._changed:
            for priority, task in tasks:
                self._number += 1
                self._open[self._number] = task
                heapq.heappush(self._waiting, (-priority, self._number, task))
            self._hire()
            self._changed.notify_all()

    def end(self, is_meant: Callable[[Task], bool]) -> None:
        """Ends the tasks that are meant, those in the queue and those in work."""
        with self._changed:
            meant = [(number, task) for number, task in sorted(self._open.items()) if is_meant(task)]
        for _, task in meant:
            task.end()
        with self._changed:
            for number, _ in meant:
                self._open.pop(number, None)
                if number in self._working:
                    self._late.add(number)
            self._waiting = [entry for entry in self._waiting if not entry[2].is_over]
            heapq.heapify(self._waiting)
            self._hire()
            self._changed.notify_all()

    def close(self, *, waits: bool) -> None:
        """No more tasks come; those that are open are worked on if it `waits`, and dropped if not."""
        with self._changed:
            self._is_closed = True
            if not waits:
                self._waiting.clear()
                self._open.clear()
            self._changed.notify_all()
            if waits:
                self._changed.wait_for(lambda: not self._open)

    def _hire(self) -> None:
        """Starts threads where tasks wait and there are fewer than may be."""
        most = min(2 * self._threads, self._threads + len(self._late))
        while self._workers < most and self._workers - len(self._working) < len(self._waiting):
            self._workers += 1
            threading.Thread(target=self._work, name="analysis", daemon=True).start()

    def _work(self) -> None:
        """Takes tasks until the desk is closed, or there are threads enough without this one."""
        while (taken := self._take()) is not None:
            number, task = taken
            try:
                task.work(self._searcher, self._pace)
            except EngineError as error:
                task.fail(str(error))
            except BaseException as fault:
                self._on_fault(fault)
                return
            finally:
                with self._changed:
                    self._working.discard(number)
                    self._late.discard(number)
                    self._open.pop(number, None)
                    self._changed.notify_all()

    def _take(self) -> tuple[int, Task] | None:
        with self._changed:
            while True:
                if self._workers > self._threads + len(self._late) or (self._is_closed and not self._waiting):
                    self._workers -= 1
                    return None
                if self._waiting:
                    _, number, task = heapq.heappop(self._waiting)
                    self._working.add(number)
                    return number, task
                self._changed.wait()
