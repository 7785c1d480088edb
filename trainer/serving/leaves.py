"""The leaves of a pool's searches, evaluated in batches: `Leaves` pulls, evaluates and pushes on a thread of its own.

Spec: docs/spec/network.md. Invariants: every batch that is pulled is pushed, unless the device fails; outputs are the
engine's integers, so that no game depends on batches, devices or timing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import torch

from native.canary import WrongMachine
from native.network import Network
from native.pool import Pool
from trainer.serving.evaluator import Evaluator, NotExact, Outputs

PULL_S: Final = 0.2
MAX_NETWORKS: Final = 8


class Evaluators:
    """The networks of a device, the most recent ones kept there; one batch at a time, from any thread."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._kept: OrderedDict[bytes, Evaluator] = OrderedDict()
        self._busy = threading.Lock()

    def run(self, network: Network, size: int, planes: bytes | bytearray) -> Outputs:
        """As `Evaluator.run`; raises NotExact when the network comes out wrong at its first use."""
        with self._busy:
            evaluator = self._kept.get(network.digest)
            if evaluator is None:
                evaluator = self._kept[network.digest] = Evaluator(network.file, self._device)
            self._kept.move_to_end(network.digest)
            if len(self._kept) > MAX_NETWORKS:
                self._kept.popitem(last=False)
            return evaluator.run(size, planes)

    def outputs(self, network: Network, size: int, planes: bytes) -> bytes:
        """The bytes of `run`, as a canary compares them; raises WrongMachine where `run` raises NotExact."""
        try:
            return self.run(network, size, planes).tobytes()
        except NotExact as error:
            raise WrongMachine(str(error)) from None


class Leaves:
    """A context manager: evaluates what `pool` (one of `Pool.outside`) waits for while it lasts. `give_up` is called
    on its thread with what went wrong."""

    def __init__(self, pool: Pool, evaluators: Evaluators, give_up: Callable[[Exception], Any]) -> None:
        self._pool, self._evaluators, self._give_up = pool, evaluators, give_up
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="leaves", daemon=True)

    def _work(self) -> None:
        try:
            while not self._ended.is_set():
                pull = self._pool.pull(PULL_S)
                if pull is not None:
                    self._pool.push(pull, self._evaluators.run(pull.network, pull.size, pull.planes))
        except Exception as error:  # torch raises of many kinds, and every one of them ends this thread
            self._give_up(error)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.stop()
        self._ended.set()
        self._thread.join()
