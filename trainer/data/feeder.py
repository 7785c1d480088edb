"""Minibatches laid out ahead of the optimiser: `Feeder`.

Workers draw and lay out rows in memory that they share with this process; without workers it is done here when asked for.
The bytes are those of `collate` either way, and `waited_s` says how long whoever asked had to wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from types import TracebackType
from typing import Final

from trainer.data.crew import ANSWERS_WITHIN_S, Crew
from trainer.data.draws import Sampler
from trainer.data.layout import Layout
from trainer.data.minibatch import Minibatch
from trainer.data.rows import Window
from trainer.data.shared import Laid, LayOut

_AHEAD: Final = 3


class Feeder:
    """The minibatches of a cycle, or this process' part of each when the sampler draws a part."""

    def __init__(
        self,
        window: Window,
        sampler: Sampler,
        workers: int,
        tell: Callable[[str], None] = lambda text: None,
        *,
        answers_within_s: float = ANSWERS_WITHIN_S,
    ) -> None:
        """`tell` hears of a worker that ended."""
        self.waited_s = 0.0
        self._task = LayOut(window, sampler, max(1, _AHEAD * workers))
        self._crew: Crew[int, Laid] = Crew(
            self._task,
            workers,
            tell,
            ahead=_AHEAD,
            descriptors=(*window.descriptors, self._task.shared.descriptor),
            answers_within_s=answers_within_s,
        )
        self._next: tuple[int, Iterator[Laid]] | None = None

    @property
    def pids(self) -> list[int]:
        """The workers that are left."""
        return self._crew.pids

    def minibatch(self, step: int) -> Minibatch:
        """Minibatch `step` of the cycle, steps ascending one by one; good until the next is asked for.

        Raises BadRows when the window's rows were damaged meanwhile.
        """
        started = time.perf_counter()
        if self._next is None:
            self._next = step, self._crew.map(count(step))
        expected, laid = self._next
        if step != expected:
            raise ValueError(f"minibatch {step} is not the next one, {expected}")
        canvas, whole = next(laid)
        self._next = step + 1, laid
        self.waited_s += time.perf_counter() - started
        return Minibatch.of(self._task.shared[step], Layout(self._task.sampler.rows, canvas), whole)

    def close(self) -> None:
        """Ends the workers."""
        self._crew.close()
        self._task.shared.close()

    def __enter__(self) -> Feeder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
