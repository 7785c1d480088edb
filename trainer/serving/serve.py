"""`python -m trainer.serving.serve`: a pool whose leaves torch evaluates, behind its pipe (docs/spec/pipe.md).

The rules, the search and the games are the engine's; only the network runs on the device, exactly (docs/spec/network.md).
Exit status: 0 when the node closed the pipe or said stop; 1 with one sentence when the device fails on the way, so that
the node starts another; 2 with one sentence for an option that this machine cannot follow, torch and the device included.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import partial

from native.canary import verify_kernel, verify_outputs
from native.errors import EngineError
from native.network import Kernel
from native.pipe import VERSION, Ready
from native.pool import Pool
from native.priority import give_way
from native.serve import Options, refuse, serve

FAILED = 1


def main() -> None:
    """Plays with a device of this machine."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = Options("trainer.serving.serve")
    options.add_argument("--device", default="cpu", metavar="D", help="cpu or cuda (cpu)")
    given = options.parse_args()
    give_way(given.nice)
    try:
        import torch

        from trainer.errors import TrainerError
        from trainer.serving.evaluator import open_device
        from trainer.serving.leaves import Evaluators, Leaves
    except ImportError as error:
        refuse(f"A device needs {error.name or 'torch'}: install gonode with its extra, `gonode[train]`.")
    torch.set_num_threads(1)  # the processor is for the players
    try:
        evaluators = Evaluators(open_device(given.device))
        pool = Pool.outside(given.threads, given.games)
    except (EngineError, TrainerError) as error:
        refuse(str(error))

    def canary() -> None:
        verify_outputs(evaluators.outputs)
        verify_kernel(Kernel.best())  # the search's own arithmetic

    with pool, Leaves(pool, evaluators, partial(_give_up, given.device)):
        serve(pool, canary, Ready(VERSION, f"torch-{given.device}", given.threads, given.games))


def _give_up(device: str, error: Exception) -> None:
    """Ends the process from whatever thread: games whose leaves nobody evaluates would wait for ever."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    print(f"The device {device} failed: {reason}", file=sys.stderr, flush=True)
    os._exit(FAILED)


if __name__ == "__main__":
    main()
