"""Minibatches: rows under their symmetries as torch tensors, boards of several sizes on one canvas.

Spec: docs/spec/features.md, docs/spec/train-state.md ("Losses"). A smaller board lies in the canvas' top-left corner;
plane 0 (the board) is the mask. Symmetry k: transpose if k & 4, then flip rows if k & 1, columns if k & 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trainer.data.layout import Layout, Memory
from trainer.data.rows import Window


@dataclass(frozen=True, slots=True)
class Minibatch:
    """N rows on a canvas of S x S, P = S * S; all float32.

    planes [N, 20, S, S], binary planes 0 or 1 (channels last); legal [N, P + 1] bool; policy and opponent_policy
    [N, P + 1], sums 1, or all 0 where there is none; result and root_value [N] in -1..1; score [N] in points;
    ownership [N, P] in -1..1; board [N, P]: 1 on the board; `whole`: every row fills the canvas.
    """

    planes: Tensor
    legal: Tensor
    policy: Tensor
    opponent_policy: Tensor
    result: Tensor
    root_value: Tensor
    score: Tensor
    ownership: Tensor
    board: Tensor
    whole: bool

    @classmethod
    def of(cls, memory: Memory, layout: Layout, whole: bool) -> Self:
        """The minibatch that lies in this memory; it shares it."""
        tensors = {name: torch.from_numpy(array) for name, array in layout.arrays(memory).items()}
        planes = tensors.pop("planes").view(layout.rows, layout.canvas, layout.canvas, -1).permute(0, 3, 1, 2)
        return cls(planes=planes, whole=whole, **tensors)


def collate(window: Window, numbers: npt.NDArray[np.int64], symmetries: npt.NDArray[np.int64]) -> Minibatch:
    """The minibatch of these rows (at least one) under these symmetries, in memory of its own; rows keep their order."""
    drawn = window.draw(numbers, symmetries)
    layout = Layout(len(numbers), drawn.canvas)
    memory = torch.empty(layout.bytes, dtype=torch.uint8).numpy()  # torch aligns it
    window.lay_out(drawn, layout.buffers(memory))
    return Minibatch.of(memory, layout, drawn.whole)
