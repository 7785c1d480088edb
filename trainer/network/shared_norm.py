"""Batch norm whose moments are those of the minibatch's boards in all processes together: `shared_norm`.

Spec: docs/spec/train-state.md ("More processes"). One collective forward (count, mean, variance of each process, put
together in the order of ranks) and one backward; none in a group of one, which is how boards of several sizes are normed.
Torch's SyncBatchNorm does the same on GPUs only, and without masks.
"""

from __future__ import annotations

from typing import Any, Final, cast

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
    rows = _rows(x).float()
    if _is_plain(x, mask):
        return cast(tuple[Tensor, Tensor], torch.ops.aten.batch_norm_update_stats(x, None, None, 0.0))
    if mask is None:
        mean = rows.sum(0) / count
        return mean, (rows - mean).square_().sum(0) / count
    inside = _rows(mask)
    mean = (rows * inside).sum(0) / count
    return mean, ((rows - mean) * inside).square_().sum(0) / count


class _SharedNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Tensor | None, count: Tensor, gamma: Tensor | None, beta: Tensor, group: Group
    ) -> Tensor:
        parts = group.gather(torch.cat((count.reshape(1), *moments_of(x, mask, count)))).double()
        share = parts[:, :1] / parts[:, 0].sum()
        means, variances = parts[:, 1:].chunk(2, 1)
        exact = (share * means).sum(0)
        variance = (share * (variances + (means - exact) ** 2)).sum(0).float()
        mean = exact.float()
        ctx.group = group
        ctx.save_for_backward(x, mask, gamma, mean, variance, parts[:, 0].sum().float())
        return functional.batch_norm(x, mean, variance, gamma, beta, False, 0.0, EPSILON)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, mask, gamma, mean, variance, count = ctx.saved_tensors
        inverse = torch.rsqrt(variance + EPSILON)
        gradient, values = _rows(gradients[0]), _rows(x)
        if _is_plain(x, mask):
            _, to_gamma, to_beta = torch.ops.aten.native_batch_norm_backward(
                gradients[0], x, gamma, mean, variance, None, None, False, EPSILON, [False, True, True]
            )
        else:
            to_beta = gradient.sum(0)
            to_gamma = (gradient * (values - mean)).sum(0) * inverse
        gain = inverse if gamma is None else gamma * inverse
        of_beta, of_gamma = (ctx.group.total(torch.cat((to_beta, to_gamma))) / -count).chunk(2)
        slope = gain * inverse * of_gamma
        through_moments = torch.addcmul(gain * of_beta - slope * mean, values, slope)
        if mask is not None:  # off the boards x has no part in the moments
            through_moments.mul_(_rows(mask))
        n, channels, *sides = x.shape
        to_x = through_moments.addcmul_(gradient, gain).view(n, *sides, channels).permute(0, 3, 1, 2).to(x.dtype)
        return to_x, None, None, None if gamma is None else to_gamma, to_beta, None


def _is_plain(x: Tensor, mask: Tensor | None) -> bool:
    """Whether torch's own kernels can take the sums, in half the passes over memory."""
    return mask is None and x.dtype == torch.float32 and x.device.type == "cpu"


def _rows(x: Tensor) -> Tensor:
    """x [N, C, S, S] as f32 [N * S * S, C]: the same memory when the channels lie last."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1]).float()
