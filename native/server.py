"""A pool behind a pair of byte streams: takes a node's orders, gives an engine's answers.

Spec: docs/spec/pipe.md. Invariants: every job that is taken is answered once, while somebody reads; the end of the orders
ends the server, so that an engine never outlives its node. What evaluates is the pool's affair.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from native.canary import WrongMachine
from native.errors import EngineError
from native.network import Network
from native.pipe import (
    CANARY_OF_LIFE,
    MAX_SENTENCE,
    Answer,
    AskCanary,
    CanaryAnswer,
    Failed,
    Finished,
    ForgetNetwork,
    LoadNetwork,
    Order,
    Play,
    Ready,
    Replay,
    Stop,
    parse_order,
    read_frame,
)
from native.pool import Pool

LOOK_S = 0.5
END_WITHIN_S = 10.0


class Server:
    """Serves one node. `canary` computes what is known with all that the pool evaluates with, and raises WrongMachine when
    something else comes out; `ready` is said first. `give_up` is called, on a thread of the server, with what keeps it from
    answering (OSError: nobody takes the answers); it ends the process, for `run` may wait for an order. Games end before."""

    def __init__(
        self,
        pool: Pool,
        reader: BinaryIO,
        writer: BinaryIO,
        canary: Callable[[], None],
        ready: Ready,
        give_up: Callable[[Exception], Any],
    ) -> None:
        self._pool = pool
        self._reader = reader
        self._writer = writer
        self._canary = canary
        self._ready = ready
        self._give_up = give_up
        self._networks: dict[bytes, Network] = {}
        self._faults: dict[bytes, str] = {}
        self._writing = threading.Lock()
        self._ended = threading.Event()

    def run(self) -> None:
        """Serves until the orders end, or until `Stop` came, every job is answered, and after them the canary which says
        whether they are to be believed. Then the pool is stopped, and may be closed. Raises PipeError for bytes that are no
        order, and what `canary` raises beside WrongMachine: for want of memory, say, which tells nothing about what this
        machine computes."""
        self._say(self._ready)
        answering = threading.Thread(target=self._answer, name="answers", daemon=True)
        answering.start()
        try:
            while (data := read_frame(self._reader)) is not None:
                order = parse_order(data)
                if isinstance(order, Stop):
                    self._pool.stop()
                    while self._pool.pending and not self._ended.wait(0.01):
                        pass
                    self._ended.set()
                    answering.join(END_WITHIN_S)
                    self._say(self._look_at_canary(CANARY_OF_LIFE))
                    return
                self._take(order)
        finally:
            self._ended.set()
            self._pool.stop()
            answering.join(END_WITHIN_S)

    def _take(self, order: Order) -> None:
        match order:
            case LoadNetwork():
                self._load(order)
            case ForgetNetwork():
                self._networks.pop(order.digest, None)
                self._faults.pop(order.digest, None)
            case Play() | Replay():
                self._begin(order)
            case AskCanary():
                self._say(self._look_at_canary(order.id))

    def _load(self, order: LoadNetwork) -> None:
        try:
            network = Network.load(order.file)
            if network.digest != order.digest:
                raise EngineError("A network's file is not the one that its digest names.")
            self._networks[order.digest] = network
            self._faults.pop(order.digest, None)
        except (EngineError, MemoryError) as error:
            self._faults[order.digest] = str(error)

    def _begin(self, order: Play | Replay) -> None:
        """Gives a job to the pool; what the pool does not take is answered at once."""
        for digest in (order.job.black, order.job.white):
            if digest in self._faults:
                self._fail(order.job.job.id, self._faults[digest])
                return
        try:
            job = order.job.resolve(self._networks)
            if isinstance(order, Replay):
                self._pool.replay(job, order.block)
            else:
                self._pool.play(job, order.begun)
        except (EngineError, MemoryError) as error:
            self._fail(order.job.job.id, str(error))

    def _fail(self, number: int, sentence: str) -> None:
        self._say(Failed(number, sentence[:MAX_SENTENCE]))

    def _look_at_canary(self, number: int) -> CanaryAnswer:
        try:
            self._canary()
        except WrongMachine as error:
            return CanaryAnswer(number, False, str(error)[:MAX_SENTENCE] or "The canary failed.")
        return CanaryAnswer(number, True, "")

    def _answer(self) -> None:
        """Says what the pool finishes, until the server ends."""
        try:
            while not self._ended.is_set():
                done = self._pool.wait(LOOK_S)
                if done is not None:
                    self._say(Finished(done))
        except Exception as error:  # whatever it is, jobs would wait for ever
            if not self._ended.is_set():
                self._ended.set()
                self._pool.stop()
                self._give_up(error)

    def _say(self, answer: Answer) -> None:
        data = answer.to_stream()
        with self._writing:
            self._writer.write(data)
            self._writer.flush()
