"""Training as a process of its own: `python -m trainer cycle JOB.json`, watched line by line.

Spec of the job and its output: `docs/spec/train-state.md`. The trainer keeps its own states, so a killed one is started
again with the same job and ends in the same bytes. Where the manifest wants several processes, it starts and restarts
them itself; all are of one session, and end with it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import trio

from node.training.errors import TrainingFailed
from node.training.events import Event, Failed, Progress, parse_event

Report = Callable[[Event], Awaitable[None]]

Train = Callable[[Path, Report], Awaitable[None]]
"""Trains the job in a file; its output lies in the job's folder afterwards."""

CYCLE = "cycle"
"""The trainer's command for a job of a run, or of `gonode train` on a run's data."""

GIVE_UP_AFTER = 5
STOP_WITHIN_S = 20
LAST_WORDS_S = 5
SILENT_S = 1800
"""A trainer that says nothing for so long is ended and started again: a process may hang without dying."""


async def train(
    job: Path,
    report: Report,
    stop_within_s: float = STOP_WITHIN_S,
    environment: Mapping[str, str] | None = None,
    *,
    kind: str = CYCLE,
) -> None:
    """Runs a cycle, or a job of another `kind`, to its end; `report` gets each line of progress. `environment`: another
    one than this process's.

    A trainer that dies is started again, up to five times in a row without progress. On cancellation it is told to save
    its state and given `stop_within_s` to do so. Raises TrainingFailed.
    """
    deaths, error = 0, ""

    async def hear(event: Event) -> None:
        nonlocal error
        if isinstance(event, Failed):
            error = event.error
        await report(event)

    while True:
        status, moved, why = await _run_once(kind, job, hear, stop_within_s, environment)
        if status == 0:
            return
        if status in (1, 2):
            raise TrainingFailed(why or "The trainer refused its job.", status, error)
        error = ""
        deaths = 1 if moved else deaths + 1
        if deaths >= GIVE_UP_AFTER:
            raise TrainingFailed(f"The trainer ended {deaths} times without progress (status {status}): {why}", 3)


async def _run_once(
    kind: str, job: Path, report: Report, stop_within_s: float, environment: Mapping[str, str] | None
) -> tuple[int, bool, str]:
    command = [sys.executable, "-P", "-m", "trainer", kind, str(job)]  # -P: as in `EngineSettings`
    moved = False
    process = await trio.lowlevel.open_process(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    tail = bytearray()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_keep_tail, process.stderr, tail)
            pending = bytearray()
            with trio.move_on_after(SILENT_S) as silence:
                async for part in process.stdout:
                    silence.deadline = trio.current_time() + SILENT_S
                    pending += part
                    *lines, rest = pending.split(b"\n")
                    pending = bytearray(rest)
                    for line in lines:
                        event = parse_event(bytes(line))
                        if event is not None:
                            moved = moved or isinstance(event, Progress)
                            await report(event)
                await process.wait()
            if silence.cancelled_caught:
                await _kill(process)
                nursery.cancel_scope.cancel()  # a child of its own may hold the pipe
                return process.returncode or 0, moved, f"it said nothing for {SILENT_S:g} s and was ended"
            nursery.cancel_scope.deadline = trio.current_time() + LAST_WORDS_S
    finally:
        if process.returncode is None:
            with trio.CancelScope(shield=True):
                try:
                    process.send_signal(signal.SIGINT)
                    with trio.move_on_after(stop_within_s):
                        await process.wait()
                finally:  # also when another Ctrl-C does not wait
                    if process.returncode is None:
                        await _kill(process)
    lines_out = tail.decode("utf-8", "replace").strip().splitlines()
    return process.returncode or 0, moved, lines_out[-1] if lines_out else ""


async def _kill(process: trio.Process) -> None:
    """Ends the trainer and all processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _keep_tail(stream: trio.abc.ReceiveStream, tail: bytearray) -> None:
    async for part in stream:
        tail += part
        del tail[:-4096]
