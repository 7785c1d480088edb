"""What a node waits for, over lives of its engine."""

import trio
from trio.testing import wait_all_tasks_blocked

from native.pipe import AskCanary, Finished, Play, Stop
from native.pipe_job import PipeJob
from node.engine.flight import Flights
from tests.node.engine.jobs import job


async def test_a_stop_that_comes_while_an_engine_starts_is_for_it() -> None:
    flights, found = Flights(), list[object]()

    async def ask() -> None:
        found.append(await flights.ask(lambda number: Play(PipeJob.of(job(number)))))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        flights.begin_stop()
        flights.send_again()
        assert (await flights.next()).order == Stop()
        flights.end_stop()
        await wait_all_tasks_blocked()
        (answer,) = found
        assert isinstance(answer, Finished)
        assert answer.done.is_stopped
        nursery.start_soon(flights.ask, AskCanary)
        assert (await flights.next()).order == AskCanary(2)
        nursery.cancel_scope.cancel()
