"""Memory that workers and the trainer share, and the task of a worker that lays out minibatches there. No torch here."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any, NamedTuple

import numpy as np

from trainer.data.draws import Sampler
from trainer.data.layout import ALIGNMENT, Layout, Memory
from trainer.data.rows import Window


class Shared:
    """`slots` pieces of memory of `bytes` each; pickled, it is the same memory in a process that gets `descriptor`."""

    def __init__(self, slots: int, slot_bytes: int, descriptor: int | None = None) -> None:
        """New memory (a file without a name, given back with the last process that has it), or that of a descriptor."""
        self._slots, self._bytes = slots, -(-slot_bytes // ALIGNMENT) * ALIGNMENT
        length = self._slots * self._bytes
        self.descriptor = _nameless(length) if descriptor is None else descriptor
        self._memory: Memory = np.frombuffer(mmap.mmap(self.descriptor, length), np.uint8)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._slots, self._bytes, self.descriptor)

    def __getitem__(self, slot: int) -> Memory:
        at = slot % self._slots * self._bytes
        return self._memory[at : at + self._bytes]

    def close(self) -> None:
        """Gives the descriptor back; the memory stays as long as an array of it."""
        os.close(self.descriptor)


def _nameless(length: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("gonode-minibatches")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, length)
    return descriptor


class Laid(NamedTuple):
    """A minibatch that lies in its slot: the layout's canvas, and whether every board fills it."""

    canvas: int
    whole: bool


class LayOut:
    """Lays out minibatch `step` of a cycle, here or in a worker: it lies in slot `step` of the shared memory."""

    def __init__(self, window: Window, sampler: Sampler, slots: int) -> None:
        largest = Layout(sampler.rows, max(window.sizes))
        self.window, self.sampler, self.shared = window, sampler, Shared(slots, largest.bytes)

    def __call__(self, step: int) -> Laid:
        drawn = self.window.draw(*self.sampler.minibatch(step))
        layout = Layout(self.sampler.rows, drawn.canvas)
        self.window.lay_out(drawn, layout.buffers(self.shared[step]))
        return Laid(drawn.canvas, drawn.whole)
