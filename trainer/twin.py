"""The engine's integer network in torch: the same outputs, bit for bit, for measuring what rounding costs.

Spec: docs/spec/network.md. Convolutions are unfold and an fp32 matrix product, whose sums stay below 2^24 and so are
exact; never a bare conv2d, which may choose Winograd or NNPACK. Everything else is int64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from native.netfile import PLANES, ConvLayer, HiddenLayer, LogitLayer, NetworkFile, NormLayer, PoolLayer

_HEAD_LIMIT = 1 << 17
_SCORE_LIMIT = 1 << 21


@dataclass(frozen=True, slots=True)
class Logits:
    """Q12 outputs for N positions of p points, int64: policy [N, p + 1], value, score_mean, score_spread [N], ownership
    [N, p]."""

    policy: Tensor
    value: Tensor
    score_mean: Tensor
    score_spread: Tensor
    ownership: Tensor


class Twin:
    """A network file, ready to evaluate."""

    def __init__(self, file: NetworkFile) -> None:
        self._file = file

    def evaluate(self, planes: Tensor) -> Logits:
        """`planes` u8 [N, 20, rows, cols] as the engine's features; every position of one size."""
        file = self._file
        x = _conv(planes.long(), file.stem)
        for block in file.blocks:
            a = _act(x, block.norm)
            xb = None if block.pool is None else _pooled_bias(_mean_max(a), block.pool)
            t = _conv(a, block.conv1, xb)
            x = _sat16(x + _conv(t, block.conv2))
        z = _act(x, file.tip)
        g = _conv(z, file.pool_conv)
        p = _conv(z, file.policy_conv, _pooled_bias(_mean_max(g), file.policy_pool))
        v = _conv(z, file.value_conv)
        total = (v.sum((2, 3)) * 11618 + (1 << 15)) >> 16
        h = _hidden(torch.cat((_mean_max(v), total), 1), file.value_hidden)
        points = p.flatten(2).transpose(1, 2)
        owner = v.flatten(2).transpose(1, 2)
        policy = _logit(points, file.policy_point, _HEAD_LIMIT)
        passed = _logit(_mean_max(p), file.policy_pass, _HEAD_LIMIT)
        return Logits(
            policy=torch.cat((policy, passed[:, None]), 1),
            value=_logit(h, file.value, _HEAD_LIMIT),
            score_mean=_logit(h, file.score_mean, _SCORE_LIMIT),
            score_spread=_logit(h, file.score_spread, _SCORE_LIMIT),
            ownership=_logit(owner, file.ownership, _HEAD_LIMIT),
        )


def _s8(weights: bytes, *shape: int) -> Tensor:
    return torch.from_numpy(np.frombuffer(weights, np.int8).astype(np.int64)).view(shape)


def _rsh(v: Tensor, s: Tensor) -> Tensor:
    return (v + _half(s)) >> s


def _half(s: Tensor) -> Tensor:
    return torch.where(s > 0, torch.ones_like(s) << (s - 1).clamp_min(0), torch.zeros_like(s))


def _sat16(v: Tensor) -> Tensor:
    return v.clamp(-32768, 32767)


def _mulhrs(a: Tensor, m: Tensor) -> Tensor:
    return (a * m + (1 << 14)) >> 15


def _column(values: tuple[int, ...]) -> Tensor:
    return torch.tensor(values).view(-1, 1, 1)


def _conv(x: Tensor, layer: ConvLayer, xb: Tensor | None = None) -> Tensor:
    n, _, rows, cols = x.shape
    side = 3 if layer.taps == 9 else 1
    weights = _s8(layer.weights, layer.outputs, layer.taps, layer.inputs).permute(0, 2, 1).reshape(layer.outputs, -1)
    columns = functional.unfold(x.float(), side, padding=side // 2)
    acc = (weights.float() @ columns).long().view(n, layer.outputs, rows, cols)
    if xb is not None:
        acc = acc + xb[:, :, None, None]
    shift = _column(layer.shift)
    r = _mulhrs(_sat16((acc + _column(layer.bias) + _half(shift)) >> shift), _column(layer.multiplier))
    return r if layer.stream else r.clamp(0, 127)


def _act(x: Tensor, layer: NormLayer) -> Tensor:
    return _mulhrs(_sat16(x + _column(layer.bias)), _column(layer.multiplier)).clamp(0, 127)


def _mean_max(a: Tensor) -> Tensor:
    n = a.shape[2] * a.shape[3]
    reciprocal = ((1 << 22) + n // 2) // n
    mean = (a.sum((2, 3)) * reciprocal + (1 << 15)) >> 16
    return torch.cat((mean, 64 * a.amax((2, 3))), 1)


def _pooled_bias(g: Tensor, layer: PoolLayer) -> Tensor:
    acc = g @ _s8(layer.weights, layer.outputs, layer.inputs).T + torch.tensor(layer.bias)
    return _rsh(acc, torch.tensor(layer.shift))


def _hidden(g: Tensor, layer: HiddenLayer) -> Tensor:
    acc = g @ _s8(layer.weights, layer.outputs, layer.inputs).T + torch.tensor(layer.bias)
    v = _sat16(_rsh(acc, torch.tensor(layer.shift)))
    return _mulhrs(v, torch.tensor(layer.multiplier)).clamp(0, 127)


def _logit(x: Tensor, layer: LogitLayer, limit: int) -> Tensor:
    acc = x @ _s8(layer.weights, layer.inputs) + layer.bias
    return ((acc * layer.multiplier + (1 << (layer.shift - 1))) >> layer.shift).clamp(-limit, limit - 1)


def planes_u8(planes: Tensor) -> Tensor:
    """The engine's u8 planes of float ones (1 is 64)."""
    if planes.shape[1] != PLANES:
        raise ValueError(f"{planes.shape[1]} planes instead of {PLANES}")
    return (planes * 64).round().to(torch.uint8)
