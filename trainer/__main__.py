"""`python -m trainer cycle JOB.json`: runs one training cycle, by as many processes as the job's manifest says.
`python -m trainer compare JOB.json FOLDER`: how far what it left is from the logged files in a folder.
`python -m trainer leela-zero JOB.json`: trains a network of Leela Zero's architecture on positions of its files.

Spec: docs/spec/train-state.md. Standard output has one JSON object a line, standard error one sentence when it
fails. Exit status: 0 done, 1 the training failed (loss not a number, spike), 2 wrong use or bad input, 3 its processes die
again and again, 130 interrupted. Started by `torchrun` it is one of the processes.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

_USAGE = "Usage: python -m trainer cycle JOB.json, or compare JOB.json FOLDER, or leela-zero JOB.json"


def main(arguments: list[str]) -> int:
    """Runs the command; gives the exit status."""
    if [*arguments[:1], len(arguments)] not in (["cycle", 2], ["compare", 3], ["leela-zero", 2]):
        return _fail(_USAGE, 2)
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        import numpy  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        return _fail(f"Training needs {error.name or 'torch'}: install gonode with its extra, `gonode[train]`.", 2)
    from trainer.learning.group import is_in_group
    from trainer.process import compare_logged, processes_of, start_leela_zero, work

    path = Path(arguments[1])
    if arguments[0] == "leela-zero":
        return start_leela_zero(path, lambda: stopping)
    if arguments[0] == "compare":
        return compare_logged(path, Path(arguments[2]))
    processes = 1 if is_in_group() else processes_of(path)
    if processes > 1:
        from trainer.launch import launch

        return launch(path, processes)
    status = work(path, lambda: stopping)
    if is_in_group():
        _end(status)
    return status


def _end(status: int) -> NoReturn:
    """Ends the process at once: threads of torch that still wind down may abort one that takes its time."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _fail(sentence: str, status: int) -> int:
    sys.stderr.write(sentence + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
