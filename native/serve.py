"""`python -m native.serve`: the pool of this machine's processor behind standard input and output (docs/spec/pipe.md).

Standard error has a line when something is wrong. Exit status: 0 when the node closed the pipe or said stop, 1 with one
sentence when it cannot answer, 2 with one for an option that this machine cannot follow. Ctrl-C is the node's affair, which
drains, and is ignored here.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import BinaryIO, NoReturn

from native.canary import verify_kernel
from native.errors import EngineError
from native.network import Kernel
from native.pipe import MAX_THREADS, VERSION, Ready
from native.pipe_error import PipeError
from native.pool import Pool
from native.priority import give_way
from native.server import Server

FAILED = 1
BAD_INPUT = 2


class Options(argparse.ArgumentParser):
    """The options that engines of all devices have; a wrong one is one sentence and status 2."""

    def __init__(self, program: str) -> None:
        super().__init__(program, allow_abbrev=False)
        self.add_argument("--threads", type=_count, default=1, metavar="N", help="threads that play (1)")
        self.add_argument("--games", type=_count, default=1, metavar="G", help="games in flight on each thread (1)")
        self.add_argument("--nice", type=int, choices=range(20), default=0, metavar="N", help="give way to others (0)")

    def error(self, message: str) -> NoReturn:
        """See `ArgumentParser.error`."""
        refuse(f"{self.prog}: {message}.")


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MAX_THREADS:
        raise argparse.ArgumentTypeError(f"{number} is not between 1 and {MAX_THREADS}")
    return number


def refuse(sentence: str) -> NoReturn:
    """Ends the process with one line on standard error and status 2."""
    print(sentence, file=sys.stderr)
    sys.exit(BAD_INPUT)


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output as the pipe; whatever prints goes to standard error from now on."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return reader, writer


def serve(pool: Pool, canary: Callable[[], None], ready: Ready) -> None:
    """Serves a node on the standard streams until it goes away; its going away is no error."""
    try:
        reader, writer = standard_streams()
        Server(pool, reader, writer, canary, ready, _give_up).run()
    except BrokenPipeError:
        pass
    except OSError as error:
        refuse(f"Standard input and output are no pipe to a node: {error.strerror}.")
    except PipeError as error:
        refuse(str(error))
    except (EngineError, MemoryError) as error:
        _give_up(error)


def _give_up(error: Exception) -> NoReturn:
    """Ends the process, from whatever thread."""
    if isinstance(error, OSError):
        print(f"Nobody takes this engine's answers: {error.strerror}.", file=sys.stderr, flush=True)
        os._exit(0)
    print(f"The engine cannot answer: {str(error) or type(error).__name__}", file=sys.stderr, flush=True)
    os._exit(FAILED)


def main() -> None:
    """Plays with this machine's processor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = Options("native.serve")
    options.add_argument("--kernel", default=Kernel.best().encode(), metavar="K", help="what evaluates (the best)")
    given = options.parse_args()
    give_way(given.nice)
    try:
        kernel = Kernel.parse(given.kernel)
        if kernel == Kernel.BEST:
            kernel = Kernel.best()
        pool = Pool(given.threads, kernel, given.games)
    except EngineError as error:
        refuse(str(error))
    with pool:
        serve(pool, partial(verify_kernel, kernel), Ready(VERSION, kernel.encode(), given.threads, given.games))


if __name__ == "__main__":
    main()
