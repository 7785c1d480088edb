"""One `gonode train`: runs the trainer's process, passes on what it says, gives the result.

The trainer keeps its states; a session that ended in any way is gone on with by another one with the same request.
"""

import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import trio

from node.training.errors import TrainingFailed
from node.training.events import Event
from node.training.request import Prepared
from node.training.result import CycleResult, load_result
from node.training.trainer_process import CYCLE, Report, train

SAVE_WITHIN_S = 600.0
"""How long one step of a large network, and saving it, may take after Ctrl-C; another Ctrl-C does not wait."""

Listener = Callable[[Event], None]


async def run_session(prepared: Prepared, listener: Listener) -> CycleResult | None:
    """Trains to the end and gives the result; None when a signal asked to stop and the state is saved.

    Raises TrainingFailed.
    """
    return load_result(prepared.job.parent) if await run_trainer(prepared.job, CYCLE, listener) else None


async def run_trainer(job: Path, kind: str, listener: Listener) -> bool:
    """Has the trainer do a job of this kind to its end; False when a signal asked to stop and the state is saved.

    Raises TrainingFailed.
    """
    interrupted = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch_signals, nursery.cancel_scope, interrupted)
        await train(job, _reporting(listener), SAVE_WITHIN_S, kind=kind)
        nursery.cancel_scope.cancel()
    return not interrupted.is_set()


def require_trainer() -> None:
    """Raises TrainingFailed where what trains is not installed."""
    for name in ("torch", "numpy"):
        if find_spec(name) is None:
            raise TrainingFailed(f"Training needs {name}: install gonode with its extra, `gonode[train]`.", 2)


def _reporting(listener: Listener) -> Report:
    async def report(event: Event) -> None:
        listener(event)

    return report


async def _watch_signals(scope: trio.CancelScope, interrupted: trio.Event) -> None:
    """Ctrl-C or SIGTERM: the trainer is told to save."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            interrupted.set()
            scope.cancel()
