"""Minibatches: rows under their symmetries as torch tensors, boards of several sizes on one canvas.

Spec: docs/spec/features.md, docs/spec/train-state.md ("Losses"). A smaller board lies in the canvas' top-left corner;
plane 0 (the board) is the mask. Symmetry k: transpose if k & 4, then flip rows if k & 1, columns if k & 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trainer.data.rows import KIND_FULL, PLANES, Rows, Window

_OWN, _OTHER, _BAN = 1, 2, 9


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


@lru_cache(maxsize=64)
def symmetry_maps(size: int) -> npt.NDArray[np.int64]:
    """For each of 8 symmetries, which point of the row goes to point q of the result: i64 [8, size * size]."""
    points = np.arange(size * size).reshape(size, size)
    maps = []
    for k in range(8):
        turned = points.T if k & 4 else points
        turned = turned[::-1] if k & 1 else turned
        turned = turned[:, ::-1] if k & 2 else turned
        maps.append(turned.reshape(-1))
    return np.stack(maps)


def collate(window: Window, numbers: npt.NDArray[np.int64], symmetries: npt.NDArray[np.int64]) -> Minibatch:
    """The minibatch of these rows under these symmetries; rows keep their order."""
    parts = window.split(numbers)
    n, canvas = len(numbers), max(rows.size for rows, _, _ in parts)
    points = canvas * canvas
    planes = np.zeros((n, points, PLANES), np.float32)
    policy, opponent = np.zeros((n, points + 1), np.float32), np.zeros((n, points + 1), np.float32)
    ownership = np.zeros((n, points), np.float32)
    scalars = np.zeros((3, n), np.float32)
    for rows, at, index in parts:
        _place(rows, index, symmetries[at], canvas, at, planes, policy, opponent, ownership)
        scalars[0, at] = rows.value[index]
        scalars[1, at] = rows.root_value[index] * np.float32(2.0**-24)
        scalars[2, at] = rows.score[index] * np.float32(0.5)
    legal = np.ones((n, points + 1), np.bool_)
    legal[:, :points] = (planes[:, :, 0] > planes[:, :, _OWN] + planes[:, :, _OTHER] + planes[:, :, _BAN]) | (
        policy[:, :points] > 0
    )
    result, root_value, score = torch.from_numpy(scalars).unbind(0)
    return Minibatch(
        planes=torch.from_numpy(planes).view(n, canvas, canvas, PLANES).permute(0, 3, 1, 2),
        legal=torch.from_numpy(legal),
        policy=torch.from_numpy(policy),
        opponent_policy=torch.from_numpy(opponent),
        result=result,
        root_value=root_value.clamp(-1.0, 1.0),
        score=score,
        ownership=torch.from_numpy(ownership),
        board=torch.from_numpy(np.ascontiguousarray(planes[:, :, 0])),
        whole=len(parts) == 1,
    )


def _place(
    rows: Rows,
    index: npt.NDArray[np.int64],
    symmetries: npt.NDArray[np.int64],
    canvas: int,
    at: npt.NDArray[np.int64],
    planes: npt.NDArray[np.float32],
    policy: npt.NDArray[np.float32],
    opponent: npt.NDArray[np.float32],
    ownership: npt.NDArray[np.float32],
) -> None:
    """Writes the rows `index` at the positions `at` of the arrays."""
    size = rows.size
    points = size * size
    source = symmetry_maps(size)[symmetries]
    cells = (np.arange(size)[:, None] * canvas + np.arange(size)[None, :]).reshape(-1)
    row, cell = at[:, None], cells[None, :]
    turned = rows.planes[index[:, None, None], np.arange(PLANES)[None, :, None], source[:, None, :]]
    planes[row, cell] = turned.transpose(0, 2, 1) * np.float32(1 / 64)
    for column, out in ((rows.policy, policy), (rows.opponent_policy, opponent)):
        taken = column[index].astype(np.float32)
        taken /= np.maximum(taken.sum(1, keepdims=True), 1)
        out[row, cell] = np.take_along_axis(taken[:, :points], source, 1)
        out[at, -1] = taken[:, points]
    policy[at[rows.kind[index] != KIND_FULL]] = 0
    ownership[row, cell] = np.take_along_axis(rows.ownership[index], source, 1)
