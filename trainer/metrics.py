"""How a cycle's losses go, for people and their tools: `metrics.jsonl`, and TensorBoard's event files beside it.

Spec: docs/spec/train-state.md ("Files"). `metrics.jsonl` is repeatable: a cycle that was killed and goes on ends in the same
bytes. Event files hold the times that TensorBoard shows, are in a folder of their own, and nothing reads them back; they
need the package tensorboardX, without which they are left out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self, TextIO

from trainer.files import store

METRICS: Final = "metrics.jsonl"
TENSORBOARD: Final = "tensorboard"
EVERY_STEPS: Final = 10
FLUSH_S: Final = 2.0
WITHOUT_TENSORBOARD: Final = (
    "Event files for TensorBoard are left out: tensorboardX is not installed (pip install 'gonode[train]')."
)


class Metrics:
    """The open files of one cycle; a context manager. `step` counts over the run."""

    def __init__(self, out: Path, job: bytes, step: int, say: Callable[[str], None] = lambda text: None) -> None:
        """Goes on after `step` of the job with this digest; `say` is told once when event files are left out."""
        self._path, self._folder, self._step, self._say = out / METRICS, out / TENSORBOARD, step, say
        self._open = ExitStack()
        cut(self._path, job, step)

    def __enter__(self) -> Self:
        with self._open:
            self._lines = self._open.enter_context(self._path.open("a", encoding="ascii"))
            self._events = self._event_file()
            self._open = self._open.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def write(self, step: int, losses: Mapping[str, float]) -> None:
        """The losses after `step`, in millionths; on disk when this returns, whatever ends the process."""
        rounded = {name: round(loss, 6) for name, loss in losses.items()}
        _put(self._lines, {"step": step, **rounded})
        if self._events is not None:
            self._events.write(step, rounded)

    def _event_file(self) -> EventFile | None:
        try:
            file = EventFile(self._folder, self._step)
        except ImportError:
            self._say(WITHOUT_TENSORBOARD)
            return None
        self._open.callback(file.close)
        return file


class EventFile:
    """One file of TensorBoard events: scalars by tag and step, on disk within seconds.

    Raises ImportError without tensorboardX. Only its record format is used: its own writers have threads and put the
    machine's name into that of the file.
    """

    def __init__(self, folder: Path, step: int) -> None:
        """Begins a file in `folder`; what earlier files there say of steps after `step` is void."""
        from tensorboardX import RecordWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog
        from tensorboardX.proto.summary_pb2 import Summary

        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        self._event, self._summary, self._flushed_s = Event, Summary, 0.0
        self._file = RecordWriter(str(folder / f"events.out.tfevents.{now:.6f}.gonode"))
        self._put(wall_time=now, file_version="brain.Event:2")
        self._put(wall_time=now, step=step + 1, session_log=SessionLog(status=SessionLog.START))

    def write(self, step: int, scalars: Mapping[str, float]) -> None:
        """These scalars at `step`, as of now."""
        values = [self._summary.Value(tag=f"losses/{name}", simple_value=value) for name, value in scalars.items()]
        self._put(wall_time=time.time(), step=step, summary=self._summary(value=values))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _put(self, wall_time: float, **fields: object) -> None:
        self._file.write(self._event(wall_time=wall_time, **fields).SerializeToString())
        if not self._flushed_s <= wall_time < self._flushed_s + FLUSH_S:
            self._file.flush()
            self._flushed_s = wall_time


def cut(path: Path, job: bytes, step: int) -> None:
    """Drops the lines after `step`, a half-written one, and all of another job; the first line names the job."""
    kept = [json.dumps({"job": job.hex()}) + "\n"]
    try:
        first, *lines = path.read_text(encoding="ascii").splitlines(keepends=True)
    except (OSError, ValueError):
        first, lines = "", []
    for line in lines if first == kept[0] else []:
        try:
            if json.loads(line)["step"] > step or not line.endswith("\n"):
                break
        except (ValueError, KeyError, TypeError):
            break
        kept.append(line)
    store(path, "".join(kept).encode())


def _put(lines: TextIO, line: Mapping[str, float]) -> None:
    lines.write(json.dumps(line) + "\n")
    lines.flush()
