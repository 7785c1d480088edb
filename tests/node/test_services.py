"""Services that fail: started again and counted, or the end of the node with one sentence."""

import errno
import sqlite3
from random import Random
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from native.canary import WrongMachine
from node.disk.store import StoreError
from node.fatal import fatal_in
from node.following.heads import LogUnbelievable
from node.services import LAST_WAIT_S, MOST_FAILURES, ServiceLost, Services
from node.status import ServiceState


class Teller:
    """What services said, and services to say it."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.services = Services(self, Random(1))

    def __call__(self, event: str, text: str, **values: Any) -> None:
        self.said.append({"event": event, "text": text, **values})


@pytest.fixture
def teller() -> Teller:
    return Teller()


async def test_one_that_fails_is_started_again_and_counted(teller: Teller, autojump_clock: MockClock) -> None:
    lives = 0

    async def run() -> None:
        nonlocal lives
        lives += 1
        await trio.sleep(1)
        if lives < 3:
            raise KeyError(f"life {lives}")

    with trio.fail_after(10):
        await teller.services.keep("counting", run)
    (shown,) = teller.services.status()
    assert (lives, shown.name, shown.restarts) == (3, "counting", 2)
    assert (shown.last_failure or "").startswith("KeyError: 'life 2' (test_services.py:")
    assert [each["restarts"] for each in teller.said] == [1, 2]
    assert all(each["event"] == "service" and "counting failed" in each["text"] for each in teller.said)


async def test_waits_grow_and_begin_anew_after_a_good_while(teller: Teller, autojump_clock: MockClock) -> None:
    begun: list[float] = []
    lasts = [0.0] * 6 + [3600.0, 0.0, 0.0]

    async def run() -> None:
        begun.append(trio.current_time())
        await trio.sleep(lasts[len(begun) - 1])
        if len(begun) < len(lasts):
            raise OSError(errno.ECONNRESET, "reset")

    await teller.services.keep("links", run)
    waits = [after - before - last for before, after, last in zip(begun, begun[1:], lasts, strict=False)]
    assert waits[0] < 2
    assert 10 < waits[5] <= 1.5 * LAST_WAIT_S
    assert waits[6] < 1


async def test_one_that_fails_again_and_again_ends_the_node(teller: Teller, autojump_clock: MockClock) -> None:
    async def run() -> None:
        raise ExceptionGroup("nursery", [ValueError("always the same.")])

    with pytest.raises(
        ServiceLost, match=r"^The service gossip failed 10 times within 10 minutes; at last: ValueError"
    ):
        await teller.services.keep("gossip", run)
    assert len(teller.said) == MOST_FAILURES - 1
    assert trio.current_time() < 600


async def test_one_that_fails_now_and_then_never_ends_the_node(teller: Teller, autojump_clock: MockClock) -> None:
    lives = 0

    async def run() -> None:
        nonlocal lives
        lives += 1
        await trio.sleep(90)
        if lives < 50:
            raise RuntimeError("now and then")

    await teller.services.keep("gossip", run)
    assert lives == 50


FATAL_ERRORS = [
    LogUnbelievable("The log is not to be believed."),
    WrongMachine("wrong"),
    StoreError("The store is damaged."),
    sqlite3.OperationalError("database or disk is full"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EROFS, "Read-only file system"),
]


@pytest.mark.parametrize("error", FATAL_ERRORS, ids=repr)
async def test_fatal_errors_leave_alone(teller: Teller, error: Exception) -> None:
    async def run() -> None:
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError("beside"), error])])

    with pytest.raises(type(error)) as caught:
        await teller.services.keep("following", run)
    assert caught.value is error
    assert not teller.said


async def test_a_fatal_error_of_a_handler_ends_the_node_too(teller: Teller) -> None:
    async def handlers_fail() -> None:
        teller.services.look_at(ValueError("contained"))
        await trio.sleep(0.01)
        teller.services.look_at(OSError(errno.ENOSPC, "No space left on device"))
        await trio.sleep_forever()

    async def node() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(teller.services.watch)
            nursery.start_soon(handlers_fail)

    with pytest.raises(ExceptionGroup) as caught:
        await node()
    assert isinstance(fatal_in(caught.value), OSError)


class Killed(BaseException):
    """As a simulation raises it."""


async def test_a_kill_and_a_cancellation_pass_through(teller: Teller) -> None:
    async def killed() -> None:
        raise Killed

    with pytest.raises(Killed):
        await teller.services.keep("outbox", killed)
    with trio.move_on_after(0.01):
        await teller.services.keep("outbox", trio.sleep_forever)
    assert teller.services.status() == (ServiceState("outbox", 0, None),)
