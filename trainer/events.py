"""What a cycle tells whoever started it: one JSON object a line on standard output.

Spec: docs/spec/train-state.md ("Events"). Rates and times are only here, never in files that have to be repeatable.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

_EVERY_S = 1.0


class Events:
    """Writes the events of one cycle to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun_at = self._told_at = time.monotonic()
        self._first = self._steps = self._minibatch = 0

    def begin(self, done: int, steps: int, minibatch: int) -> None:
        """Training starts after `done` of `steps`."""
        self._first, self._steps, self._minibatch = done, steps, minibatch
        self._begun_at = time.monotonic()
        self._told_at = self._begun_at - _EVERY_S

    def progress(self, done: int, losses: Mapping[str, float], waited_s: float = 0.0) -> None:
        """Told at most once a second, and after the last step. `waited_s`: for data, since training began."""
        now = time.monotonic()
        if now - self._told_at < _EVERY_S and done < self._steps:
            return
        self._told_at = now
        elapsed_s = max(now - self._begun_at, 1e-9)
        rate = (done - self._first) / elapsed_s
        self._write(
            "progress",
            step=done,
            steps=self._steps,
            **{name: round(losses[name], 4) for name in ("loss", "policy_loss", "value_loss")},
            samples_per_s=round(rate * self._minibatch),
            waiting_share=round(waited_s / elapsed_s, 4),
            seconds_left=round((self._steps - done) / max(rate, 1e-9), 1),
        )

    def skipped(self, batch: str, why: str) -> None:
        """A batch was left out."""
        self._write("skipped", batch=batch, why=why)

    def note(self, text: str) -> None:
        """Something that a person may want to know; training goes on."""
        self._write("note", text=text)

    def exporting(self) -> None:
        """Training is over, the export begins."""
        self._write("exporting")

    def done(self, out: Path, result: Mapping[str, Any]) -> None:
        """The result lies in `out`."""
        self._write("done", out=str(out), result=str(out / "result.json"), **result)

    def compared(self, found: Mapping[str, Any]) -> None:
        """How far what was repeated is from what was logged."""
        self._write("compared", **found)

    def failed(self, why: str, error: str) -> None:
        """Nothing more comes. `error`: its name (`TrainerError.name`)."""
        self._write("failed", why=why, error=error)

    def _write(self, event: str, **fields: Any) -> None:
        self._stream.write(json.dumps({"event": event, **fields}) + "\n")
        self._stream.flush()
