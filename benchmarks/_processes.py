"""Steps of training by several processes with one thread each, against those of one."""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch.multiprocessing.spawn import spawn

from trainer.data.feeder import Feeder
from trainer.data.rows import Window
from trainer.learning.group import Group
from trainer.learning.learner import Learner
from trainer.pin import pin

Trains = Callable[[Window, Group], AbstractContextManager[tuple[Learner, Feeder]]]
"""Gives a learner, and what feeds it a process' part of each minibatch; importable by its name."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Seconds of a step, medians of a round: by the clock, and of the processor in the first process."""

    clock: float
    processor: float


def steps_of(trains: Trains, games: list[bytes], processes: int, seconds: float) -> Steps:
    """So many processes train together for about so long."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(_member, (processes, folder, trains, games, seconds), nprocs=processes)  # type: ignore[no-untyped-call]
        return Steps(*np.median(np.loadtxt(Path(folder, "times"), ndmin=2), 0).tolist())


def _member(rank: int, size: int, folder: str, trains: Trains, games: list[bytes], seconds: float) -> None:
    pin(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "GLOO_SOCKET_IFNAME": "lo"}
    group = Group.join("cpu", Path(folder))
    times: list[tuple[float, float]] = []
    with trains(Window.of(games), group) as (learner, feeder):
        learner.step(feeder.minibatch(0), 0)
        until = time.perf_counter() + seconds
        while not group.is_any(time.perf_counter() > until):
            clock, processor = time.perf_counter(), time.process_time()
            learner.step(feeder.minibatch(1 + len(times)), 0)
            times.append((time.perf_counter() - clock, time.process_time() - processor))
    if group.is_first:
        np.savetxt(Path(folder, "times"), times)
    group.leave()
