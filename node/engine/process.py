"""The engine in a process of its own, started again when it dies: games are functions of their jobs, so none is lost.

Spec: `docs/spec/pipe.md`. Invariants: an order is answered once, however often the engine died in between; no life of the
engine gets a job before its canaries came out; what a stop leaves of games comes back once canaries came out after it, or
not at all; a life that does not answer is ended; the engine ends with its node, since its orders end then.
"""

import math
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import trio

from native.canary import WrongMachine
from native.errors import EngineError
from native.network import Network
from native.pipe import (
    CANARY_OF_LIFE,
    VERSION,
    Answer,
    AskCanary,
    CanaryAnswer,
    Failed,
    Finished,
    ForgetNetwork,
    LoadNetwork,
    Play,
    Ready,
    Replay,
    Splitter,
    Stop,
    parse_answer,
)
from native.pipe_error import PipeError
from native.pipe_job import PipeJob
from native.pool import Done, Job
from node.disk.files import write_file
from node.engine.flight import Flights
from node.engine.settings import EngineSettings
from node.events import Events
from node.status import EngineState

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

REFUSED = 2
START_WITHIN_S = 120
CANARY_EVERY_S = 60
CANARY_WITHIN_S = 120
END_WITHIN_S = 10
MOST_DEATHS = 5
WITHIN_S = 60
FIRST_WAIT_S = 0.2
KEEP_NETWORKS = 4
STOP_WITHIN_S = 20
TAIL_BYTES = 4096

MEND = (
    "Finished games are kept. Is there memory enough? gonode doctor looks; fewer --threads and --in-flight need less."
)


class EngineRefused(EngineError):
    """One sentence of an engine that cannot start with these options on this machine."""


class EngineLost(Exception):
    """One sentence about an engine that dies again and again."""


class EngineProcess:
    """An `Engine` in a process of its own. Any number of tasks may wait for games at once.

    `fault` is the file that keeps why this machine is not to be believed.
    """

    def __init__(self, settings: EngineSettings, command: Sequence[str], events: Events, fault: Path) -> None:
        self._settings = settings
        self._command = list(command)
        self._events = events
        self._fault = fault
        self._flights = Flights()
        self._ready: Ready | None = None
        self._is_well = trio.Event()
        self._life = trio.CancelScope()
        self._is_alive = False
        self._stopped: trio.Event | None = None
        self._put_down: list[Finished] = []
        self.pid = 0
        self.restarts = 0
        self.canaries = 0

    # ---- what roles ask

    async def play(self, job: Job) -> Done:
        """See `Engine.play`."""
        return await self._job(job, Play)

    async def play_on(self, job: Job, begun: bytes) -> Done:
        """See `Engine.play_on`."""
        done = await self._job(job, lambda sent: Play(sent, begun))
        if not done.is_mismatch:
            return done
        text = f"What was kept of game {job.counter} is damaged; it is played from its start."
        self._events("engine", text, restarts=self.restarts)
        return await self.play(job)

    async def stop(self) -> None:
        """See `Engine.stop`. The process ends too, and the next one starts when something is asked."""
        if not self._is_alive:
            self._flights.stop_games()
            return
        if self._stopped is None:
            self._stopped = trio.Event()
            self._flights.begin_stop()
        stopped = self._stopped
        with trio.move_on_after(STOP_WITHIN_S):
            await stopped.wait()
            return
        self._life.cancel()
        await stopped.wait()

    async def replay(self, job: Job, block: bytes) -> Done:
        """See `Engine.replay`."""
        return await self._job(job, lambda sent: Replay(sent, block))

    async def verify_canaries(self) -> None:
        """See `Engine.verify_canaries`."""
        answer = await self._flights.ask(AskCanary)
        assert isinstance(answer, CanaryAnswer)
        self._believe(answer)

    async def compute(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """See `Engine.compute`."""
        return await trio.to_thread.run_sync(function, *arguments)

    async def started(self) -> None:
        """Returns once the engine is ready and its canaries came out."""
        await self._is_well.wait()

    @property
    def kernel(self) -> str:
        """What evaluates, as the engine names it."""
        return self._settings.kernel.encode() if self._ready is None else self._ready.kernel

    def status(self) -> EngineState:
        """What `gonode status` says of the engine."""
        settings = self._settings
        return EngineState(
            device=settings.device,
            kernel=self.kernel,
            threads=settings.threads,
            games=settings.games,
            restarts=self.restarts,
            canaries=self.canaries,
            under_way=self._flights.games,
        )

    async def _job(self, job: Job, order: Callable[[PipeJob], Play | Replay]) -> Done:
        networks = tuple(each.network for each in (job.black, job.white) if each.network is not None)
        answer = await self._flights.ask(lambda number: order(PipeJob.of(replace(job, id=number))), networks)
        if isinstance(answer, Failed):
            raise EngineError(answer.sentence)
        assert isinstance(answer, Finished)
        done = replace(answer.done, id=job.id)
        if not (done.is_ok or done.is_mismatch or done.is_stopped):
            raise EngineError(f"The engine does not play game {job.counter}: {done.sentence}", done.status)
        return done

    def _believe(self, answer: CanaryAnswer) -> None:
        if not answer.ok:
            write_file(self._fault, answer.sentence.encode())
            raise WrongMachine(answer.sentence)
        self.canaries += 1

    # ---- the process

    async def run(self) -> None:
        """Keeps an engine running until cancelled, from its first canary on whenever something is asked.

        Raises EngineRefused, EngineLost, WrongMachine.
        """
        deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        unwell = 0
        while True:
            if self._is_well.is_set():
                await self._flights.until_asked()
            try:
                self._is_alive = True
                why = await self._live()
            finally:
                self._is_alive = False
                stopped, self._stopped = self._stopped, None
                if stopped is not None:
                    self._flights.end_stop()
                    stopped.set()
            if stopped is not None:
                continue
            now = trio.current_time()
            deaths.append(now)
            if len(deaths) == MOST_DEATHS and now - deaths[0] < WITHIN_S:
                raise EngineLost(f"The engine ended {MOST_DEATHS} times within {WITHIN_S} s; at last it {why}. {MEND}")
            unwell = 0 if self._life.deadline == math.inf else unwell + 1
            if unwell == MOST_DEATHS:
                raise EngineLost(f"The engine did not start {MOST_DEATHS} times in a row; at last it {why}. {MEND}")
            self.restarts += 1
            self._events(
                "engine",
                f"The engine {why}; it is started again (time {self.restarts}), and no game is lost.",
                restarts=self.restarts,
            )
            recent = sum(now - death < WITHIN_S for death in deaths)
            await trio.sleep(FIRST_WAIT_S * 2 ** (recent - 1))

    async def _live(self) -> str:
        """One life of the engine; how it ended, as the end of a sentence."""
        tail = bytearray()
        why = ""
        self._ready = None
        self._put_down = []
        self._life = trio.CancelScope(deadline=trio.current_time() + START_WITHIN_S)
        process = await trio.lowlevel.open_process(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the node, which drains
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.pid = process.pid
        self._flights.send_again()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_keep_tail, process.stderr, tail)
                async with trio.open_nursery() as talk:
                    talk.start_soon(self._send, process.stdin)
                    talk.start_soon(self._watch)
                    with self._life:
                        why = await self._hear(process.stdout)
                    if self._life.cancelled_caught:
                        why = self._late()
                    talk.cancel_scope.cancel()
                await _end(process)
        finally:
            if process.returncode is None:
                with trio.CancelScope(shield=True):
                    await _end(process)
        last = tail.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if process.returncode == REFUSED and self._ready is None and not why:
            raise EngineRefused(last or "The engine does not start.")
        return why or _end_of(process.returncode, last)

    async def _watch(self) -> None:
        """Asks for a canary every minute and ends a life that does not answer: a process may hang without dying."""
        while True:
            await trio.sleep(CANARY_EVERY_S)
            if self._life.deadline < math.inf:
                continue  # its first canary has not come out yet
            with trio.move_on_after(CANARY_WITHIN_S) as limit:
                await self.verify_canaries()
            if limit.cancelled_caught:
                self._life.cancel()

    def _late(self) -> str:
        """What a life did that was too slow, as the end of a sentence."""
        if self._life.deadline < math.inf:
            return f"was not ready within {START_WITHIN_S} s"
        return f"did not answer within {CANARY_WITHIN_S} s"

    async def _send(self, stdin: trio.abc.SendStream) -> None:
        """Sends orders as they come, before each the networks that it needs and this life does not have."""
        held: dict[bytes, None] = {}
        try:
            await stdin.send_all(AskCanary(CANARY_OF_LIFE).to_stream())
            while True:
                flight = await self._flights.next()
                if isinstance(flight.order, Stop):
                    await stdin.send_all(flight.order.to_stream())
                    return
                for network in flight.networks:
                    await self._send_network(stdin, network, held)
                await stdin.send_all(flight.order.to_stream())
        except trio.BrokenResourceError:
            return  # what it does not read it does not answer: the next life gets it

    async def _send_network(self, stdin: trio.abc.SendStream, network: Network, held: dict[bytes, None]) -> None:
        if network.digest not in held:
            await stdin.send_all(LoadNetwork(network.digest, network.file).to_stream())
        held.pop(network.digest, None)
        held[network.digest] = None
        if len(held) > KEEP_NETWORKS:
            oldest = next(iter(held))
            del held[oldest]
            await stdin.send_all(ForgetNetwork(oldest).to_stream())

    async def _hear(self, stdout: trio.abc.ReceiveStream) -> str:
        """Takes answers until the engine's output ends, or is none: then what it did, as the end of a sentence."""
        splitter = Splitter()
        try:
            async for part in stdout:
                for frame in splitter.feed(bytes(part)):
                    self._take(parse_answer(frame))
        except PipeError as error:
            return f"said what is no answer: {error}"
        return ""

    def _take(self, answer: Answer) -> None:
        if (self._ready is None) != isinstance(answer, Ready):
            raise PipeError("An engine says once, and first, that it is ready.")
        match answer:
            case Ready():
                if answer.version != VERSION:
                    raise PipeError(f"Its frames have version {answer.version}; this node's have {VERSION}.")
                self._ready = answer
            case CanaryAnswer(id=number) if number == CANARY_OF_LIFE:
                self._believe(answer)
                self._life.deadline = math.inf
                self._is_well.set()
                for finished in self._put_down:
                    self._flights.land(finished.done.id, finished)
            case Finished() if answer.done.is_stopped:
                self._put_down.append(answer)
            case Finished():
                self._flights.land(answer.done.id, answer)
            case Failed() | CanaryAnswer():
                self._flights.land(answer.id, answer)


async def _keep_tail(stream: trio.abc.ReceiveStream, tail: bytearray) -> None:
    async for part in stream:
        tail += part
        del tail[:-TAIL_BYTES]


async def _end(process: trio.Process) -> None:
    """Ends an engine: its orders end, and it is killed if that is not enough."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        await stream.aclose()
    with trio.move_on_after(END_WITHIN_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


def _end_of(status: int | None, last: str) -> str:
    """How a process ended and the last line that it said, as the end of a sentence."""
    how = f"was ended by signal {-status}" if status is not None and status < 0 else f"ended with status {status}"
    return f"{how} ({last.rstrip('.')})" if last else how


@asynccontextmanager
async def open_engine(
    settings: EngineSettings, events: Events, fault: Path, command: Sequence[str] | None = None
) -> AsyncIterator[EngineProcess]:
    """A running engine whose canaries came out; on exit games in flight are stopped and the process ends.

    Raises, also while it runs, EngineRefused, EngineLost and WrongMachine, in groups.
    """
    engine = EngineProcess(settings, command or settings.command(), events, fault)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(engine.run)
        await engine.started()
        yield engine
        nursery.cancel_scope.cancel()
