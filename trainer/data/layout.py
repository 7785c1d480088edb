"""The arrays of a minibatch in one piece of memory: `Layout`. No torch here, so that workers lay out too.

Spec: docs/spec/features.md, docs/spec/train-state.md ("Losses"). A smaller board lies in the canvas' top-left corner. Every
array begins at a multiple of 64 bytes, wherever the memory is from: torch's kernels see the same alignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from native.game import FEATURE_PLANES
from native.packed import MinibatchBuffers

ALIGNMENT: Final = 64
Memory = npt.NDArray[np.uint8]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Layout:
    """N rows on a canvas of S x S, P = S * S: f32 planes [N, P, 20], bool legal [N, P + 1], f32 policy and opponent_policy
    [N, P + 1], result, root_value and score [N], ownership and board [N, P]."""

    rows: int
    canvas: int

    def __post_init__(self) -> None:
        if self.rows < 1 or self.canvas < 1:
            raise ValueError("a layout needs rows and a canvas")

    @property
    def bytes(self) -> int:
        """The memory that all arrays take."""
        return sum(_aligned(shape, dtype) for shape, dtype in self._shapes().values())

    def arrays(self, memory: Memory) -> Arrays:
        """The arrays by name, within aligned memory of `bytes` or more."""
        found, at = {}, 0
        for name, (shape, dtype) in self._shapes().items():
            end = at + int(np.prod(shape)) * dtype.itemsize
            found[name] = memory[at:end].view(dtype).reshape(shape)
            at += _aligned(shape, dtype)
        return found

    def buffers(self, memory: Memory) -> MinibatchBuffers:
        """The same, as `Window.lay_out` takes them."""
        return MinibatchBuffers(**self.arrays(memory))

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        n, points = self.rows, self.canvas * self.canvas
        f32, flag = np.dtype(np.float32), np.dtype(np.bool_)
        return {
            "planes": ((n, points, FEATURE_PLANES), f32),
            "policy": ((n, points + 1), f32),
            "opponent_policy": ((n, points + 1), f32),
            "ownership": ((n, points), f32),
            "board": ((n, points), f32),
            "result": ((n,), f32),
            "root_value": ((n,), f32),
            "score": ((n,), f32),
            "legal": ((n, points + 1), flag),
        }


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return -(-int(np.prod(shape)) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
