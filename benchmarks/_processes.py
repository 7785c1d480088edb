"""Steps of training by several processes with one thread each, against those of one."""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
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


def seconds_of_steps(trains: Trains, games: list[bytes], processes: int, seconds: float) -> list[float]:
    """How long each step takes by the clock when so many processes train together for about so long."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(_member, (processes, folder, trains, games, seconds), nprocs=processes)
        return [float(line) for line in Path(folder, "times").read_text().split()]


def interleaved(
    trains: Trains, games: list[bytes], processes: int, seconds: float, rounds: int
) -> tuple[list[float], list[float]]:
    """Medians of the steps of one process and of several, a round each, by turns."""
    medians: dict[int, list[float]] = {1: [], processes: []}
    for _ in range(rounds):
        for count in (1, processes):
            medians[count].append(float(np.median(seconds_of_steps(trains, games, count, seconds))))
    return medians[1], medians[processes]


def _member(rank: int, size: int, folder: str, trains: Trains, games: list[bytes], seconds: float) -> None:
    pin(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "GLOO_SOCKET_IFNAME": "lo"}
    group = Group.join("cpu", Path(folder))
    times: list[float] = []
    with trains(Window.of(games), group) as (learner, feeder):
        learner.step(feeder.minibatch(0), 0)
        until = time.perf_counter() + seconds
        while not group.is_any(time.perf_counter() > until):
            started = time.perf_counter()
            learner.step(feeder.minibatch(1 + len(times)), 0)
            times.append(time.perf_counter() - started)
    if group.is_first:
        Path(folder, "times").write_text("\n".join(map(str, times)))
    group.leave()
