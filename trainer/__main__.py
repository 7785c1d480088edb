"""`python -m trainer cycle JOB.json`: runs one training cycle.

Spec: docs/spec/train-state.md. Standard output has one JSON object a line, standard error one sentence when it
fails. Exit status: 0 done, 1 the training failed (loss not a number, spike), 2 wrong use or bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

_USAGE = "Usage: python -m trainer cycle JOB.json"


def main(arguments: list[str]) -> int:
    """Runs the command; gives the exit status."""
    if len(arguments) != 2 or arguments[0] != "cycle":
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
    from trainer.cycle import run
    from trainer.errors import TrainerError
    from trainer.events import Events
    from trainer.job import Job

    events = Events(sys.stdout)
    try:
        run(Job.load(Path(arguments[1])), events, lambda: stopping)
    except TrainerError as error:
        events.failed(str(error))
        return _fail(str(error), error.exit_status)
    except BrokenPipeError:  # whoever watched is gone: the same job goes on from its last state
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 130
    except OSError as error:
        events.failed(f"The disk refuses: {error}.")
        return _fail(f"The disk refuses: {error}.", 2)
    return 0


def _fail(sentence: str, status: int) -> int:
    sys.stderr.write(sentence + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
