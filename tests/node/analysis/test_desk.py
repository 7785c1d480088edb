"""The desk: tasks by priority, on several threads, ended, dropped; and a fault of the program is heard of."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from native.errors import EngineError
from node.analysis.desk import Desk
from node.analysis.line import Table
from node.analysis.task import Task
from node.play.pace import Pace
from node.play.searcher import Searcher
from tests.node.analysis.talk import query, small_reader
from tests.node.play.players import small_network, small_searcher

DEADLINE_S = 20.0


class HeldTask(Task):
    """A task whose search goes on until it is let go."""

    def __init__(self, name: str, log: list[str], fault: BaseException | None = None) -> None:
        self.answers: list[Table] = []
        found = small_reader().read(name, query(name), lambda field, sentence: None)
        super().__init__(found, 0, self.answers.append)
        self.name = name
        self.begun = threading.Event()
        self.free = threading.Event()
        self._log = log
        self._fault = fault

    def work(self, searcher: Searcher, pace: Pace) -> None:
        self._log.append(self.name)
        self.begun.set()
        assert self.free.wait(DEADLINE_S)
        if self._fault is not None:
            raise self._fault
        super().work(searcher, pace)


def no_fault(fault: BaseException) -> None:
    raise AssertionError from fault


def desk(threads: int, on_fault: Callable[[BaseException], None] = no_fault) -> Desk:
    return Desk(small_searcher(small_network()), threads, on_fault)


def test_the_highest_priority_first_then_the_earliest() -> None:
    log: list[str] = []
    first, *others = tasks = [HeldTask(name, log) for name in "abcdef"]
    at = desk(1)
    at.add([(-9, first)])
    assert first.begun.wait(DEADLINE_S)
    at.add(zip((0, 5, 0), others[:3], strict=True))
    at.add(zip((5, 2**62), others[3:], strict=True))
    for task in tasks:
        task.free.set()
    at.close(waits=True)
    assert log == ["a", "f", "c", "e", "b", "d"]
    for task in tasks:
        assert [(each["id"], each["isDuringSearch"]) for each in task.answers] == [(task.name, False)]


def test_as_many_at_once_as_there_are_threads() -> None:
    log: list[str] = []
    tasks = [HeldTask(name, log) for name in "abc"]
    at = desk(2)
    at.add((0, task) for task in tasks)
    assert tasks[0].begun.wait(DEADLINE_S)
    assert tasks[1].begun.wait(DEADLINE_S)
    assert not tasks[2].begun.wait(0.1)
    for task in tasks:
        task.free.set()
    at.close(waits=True)
    assert sorted(log) == ["a", "b", "c"]


def test_what_is_ended_holds_nobody_up() -> None:
    """A search that nobody waits for keeps its thread; the next task gets another one, up to twice the threads."""
    log: list[str] = []
    late, waiting, following, last = [HeldTask(name, log) for name in ("late", "waiting", "following", "last")]
    at = desk(1)
    at.add([(0, late), (0, waiting)])
    assert late.begun.wait(DEADLINE_S)
    at.end(lambda task: task.query.id in ("late", "waiting"))
    for task in (late, waiting):
        (answer,) = task.answers
        assert answer == {"id": task.name, "turnNumber": 0, "isDuringSearch": False, "noResults": True}
    at.add([(0, following), (0, last)])
    assert following.begun.wait(DEADLINE_S)
    at.end(lambda task: task is following)
    assert not last.begun.wait(0.1)
    late.free.set()
    following.free.set()
    last.free.set()
    at.close(waits=True)
    assert log == ["late", "following", "last"]
    assert [len(task.answers) for task in (late, waiting, following, last)] == [1, 1, 1, 1]


def test_dropped_tasks_are_not_waited_for() -> None:
    log: list[str] = []
    begun, waiting = HeldTask("begun", log), HeldTask("waiting", log)
    at = desk(1)
    at.add([(0, begun), (0, waiting)])
    assert begun.begun.wait(DEADLINE_S)
    at.close(waits=False)
    at.close(waits=True)
    begun.free.set()
    assert not waiting.begun.wait(0.1)


def test_a_refusal_of_the_engine_is_an_answer() -> None:
    task = HeldTask("a", [], EngineError("That cannot be searched."))
    task.free.set()
    at = desk(1)
    at.add([(0, task)])
    at.close(waits=True)
    assert task.answers == [{"id": "a", "error": "That cannot be searched."}]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fault_is_heard_of(threads: int) -> None:
    heard: list[BaseException] = []
    fault = RuntimeError("a fault")
    task = HeldTask("a", [], fault)
    task.free.set()

    def on_fault(error: BaseException) -> None:
        heard.append(error)
        at.close(waits=False)

    at = desk(threads, on_fault)
    at.add([(0, task)])
    at.close(waits=True)
    assert heard == [fault]


def test_ended_once() -> None:
    task = HeldTask("a", [])
    task.end()
    task.end()
    task.fail("too late")
    task.free.set()
    task.work(small_searcher(), Pace())
    assert len(task.answers) == 1
