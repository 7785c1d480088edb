"""Batch norm whose moments are those of the minibatch in all processes together: `shared_norm`.

Spec: docs/spec/train-state.md ("More processes"). One collective forward (count, mean, variance of each process, put
together in the order of ranks) and one backward. Torch's SyncBatchNorm does the same on GPUs only, and without masks.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

from trainer.learning.group import Group

EPSILON: Final = 1e-5


def shared_norm(
    x: Tensor, mask: Tensor | None, count: Tensor, gamma: Tensor | None, beta: Tensor, group: Group
) -> Tensor:
    """`x` [N, C, S, S] normed over all processes' points where `mask` [N, 1, S, S] is 1 (None: everywhere), of which this
    process has `count`. Every process must call it, in the same order. The gradients of `gamma` and `beta` are this
    process' share, as those of all other weights."""
    y: Tensor = _SharedNorm.apply(x, mask, count, gamma, beta, group)  # type: ignore[no-untyped-call]
    return y


def moments_of(x: Tensor, mask: Tensor | None, count: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance f32 [C] of the `count` points of `x` in this process where `mask` is 1."""
    x = x.float()
    if mask is None:
        variance, mean = torch.var_mean(x, (0, 2, 3), correction=0)
        return mean, variance
    mean = (x * mask).sum((0, 2, 3)) / count
    centred = (x - mean[:, None, None]) * mask
    return mean, centred.square().sum((0, 2, 3)) / count


class _SharedNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Tensor | None, count: Tensor, gamma: Tensor | None, beta: Tensor, group: Group
    ) -> Tensor:
        parts = group.gather(torch.cat((count.reshape(1), *moments_of(x, mask, count)))).double()
        share = parts[:, :1] / parts[:, 0].sum()
        means, variances = parts[:, 1:].chunk(2, 1)
        mean = (share * means).sum(0)
        variance = (share * (variances + (means - mean) ** 2)).sum(0)
        ctx.group, ctx.count, ctx.scaled = group, parts[:, 0].sum(), gamma is not None
        weight = torch.ones_like(beta) if gamma is None else gamma
        saved = (x, mask, weight, mean.float(), variance.float())
        ctx.save_for_backward(*saved)
        return functional.batch_norm(x, saved[3], saved[4], gamma, beta, False, 0.0, EPSILON)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, mask, weight, mean, variance = ctx.saved_tensors
        # With fixed moments first; what follows from their depending on x is taken off then.
        to_x, to_gamma, to_beta = torch.ops.aten.native_batch_norm_backward(
            gradients[0], x, weight, mean, variance, None, None, False, EPSILON, [True, True, True]
        )
        of_all = ctx.group.total(torch.cat((to_gamma, to_beta)))
        gain = weight * torch.rsqrt(variance + EPSILON) / ctx.count.float()
        slope, level = (gain * part for part in of_all.chunk(2))
        less = functional.batch_norm(x, mean, variance, slope, level, False, 0.0, EPSILON)
        to_x = to_x - (less if mask is None else less * mask)
        return to_x, None, None, to_gamma if ctx.scaled else None, to_beta, None
