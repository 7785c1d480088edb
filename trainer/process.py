"""One process of a cycle, alone or in a group: `work` runs it and says how it ended; `compare_logged` likewise.

Spec: docs/spec/train-state.md ("Events", "More processes"). In a group the first process speaks for all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from trainer.compare import compare
from trainer.cycle import run
from trainer.errors import PeerLost, TrainerError
from trainer.events import Events
from trainer.job import Job
from trainer.learning.group import Group
from trainer.leela_zero.job import LeelaZeroJob
from trainer.leela_zero.process import run as run_leela_zero


def processes_of(path: Path) -> int:
    """How many processes train the job in a file; 1 when it is no job, so that one says why."""
    try:
        return Job.load(path).manifest.training.processes
    except TrainerError:
        return 1


def work(path: Path, is_stopping: Callable[[], bool], folder: Path | None = None) -> int:
    """Trains the job in a file, with the group that the environment names (`Group.join`); gives the exit status."""
    try:
        job = Job.load(path)
        group = Group.join(job.device, folder)
    except TrainerError as error:
        return _failed(sys.stdout, sys.stderr, error)
    if group.is_first:
        return _work(job, group, is_stopping, sys.stdout, sys.stderr)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        return _work(job, group, is_stopping, nowhere, nowhere)


def compare_logged(path: Path, folder: Path) -> int:
    """Says how far what the job in a file left is from the logged files in `folder`; gives the exit status."""
    events = Events(sys.stdout)
    try:
        events.compared(compare(Job.load(path), folder, events))
    except (TrainerError, OSError) as error:
        return _failed(sys.stdout, sys.stderr, error)
    return 0


def start_leela_zero(path: Path, is_stopping: Callable[[], bool]) -> int:
    """Trains the job in a file on positions of Leela Zero; gives the exit status."""
    try:
        run_leela_zero(LeelaZeroJob.load(path), Events(sys.stdout), is_stopping)
    except BrokenPipeError:  # as in `_work`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 130
    except (TrainerError, OSError) as error:
        return _failed(sys.stdout, sys.stderr, error)
    return 0


def _work(job: Job, group: Group, is_stopping: Callable[[], bool], out: TextIO, err: TextIO) -> int:
    try:
        run(job, Events(out), is_stopping, group)
    except BrokenPipeError:  # whoever watched is gone: the same job goes on from its last state
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 130
    except (TrainerError, OSError) as error:
        return _failed(out, err, error)
    finally:
        group.leave()
    return 0


def _failed(out: TextIO, err: TextIO, error: TrainerError | OSError) -> int:
    if isinstance(error, TrainerError):
        sentence, status, name = str(error), error.exit_status, error.name
    else:
        place = "" if error.filename is None else f" {error.filename}"
        sentence, status, name = f"The disk refuses{place}: {error.strerror or error}.", 2, "disk"
    if isinstance(error, PeerLost):
        Events(out).note(sentence)  # all start again, or their launcher says that they do not
    else:
        Events(out).failed(sentence, name)
    err.write(sentence + "\n")
    return status
