"""The engine's integer network in torch: the same outputs, bit for bit, on the CPU or an accelerator.

Spec: docs/spec/network.md. Convolutions are unfold and an fp32 matrix product, fully connected layers an fp64 one: every
partial sum is an integer below 2^24 or 2^53, so that neither the order of the sum nor a fused multiply-add changes a bit.
Never a bare conv2d, which may choose Winograd, NNPACK or cuDNN; never TF32 or bf16 (`exactly`). The rest is int32, whose
range the file's bounds keep, and int64 for logits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from native.netfile import PLANES, BlockLayers, ConvLayer, HiddenLayer, LogitLayer, NetworkFile, NormLayer, PoolLayer

_HEAD_LIMIT = 1 << 17
_SCORE_LIMIT = 1 << 21
_TOTAL = 11618
_CPU = torch.device("cpu")


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
    """A network file, ready to evaluate on `device`."""

    def __init__(self, file: NetworkFile, device: torch.device = _CPU) -> None:
        self.architecture = file.architecture
        self.device = device
        self._stem = _Conv(file.stem, device)
        self._blocks = [_Block(block, device) for block in file.blocks]
        self._tip = _Norm(file.tip, device)
        self._pool_conv = _Conv(file.pool_conv, device)
        self._policy_conv = _Conv(file.policy_conv, device)
        self._policy_pool = _Dense(file.policy_pool, device)
        self._policy_point = _Logit(file.policy_point, _HEAD_LIMIT, device)
        self._policy_pass = _Logit(file.policy_pass, _HEAD_LIMIT, device)
        self._value_conv = _Conv(file.value_conv, device)
        self._value_hidden = _Hidden(file.value_hidden, device)
        self._value = _Logit(file.value, _HEAD_LIMIT, device)
        self._score_mean = _Logit(file.score_mean, _SCORE_LIMIT, device)
        self._score_spread = _Logit(file.score_spread, _SCORE_LIMIT, device)
        self._ownership = _Logit(file.ownership, _HEAD_LIMIT, device)

    def evaluate(self, planes: Tensor) -> Logits:
        """`planes` u8 [N, 20, rows, cols] on the twin's device, as the engine's features; every position of one size."""
        with torch.inference_mode(), exactly(self.device):
            x = self._stem(planes.int())
            for block in self._blocks:
                x = block(x)
            z = self._tip(x)
            p = self._policy_conv(z, self._policy_pool(_mean_max(self._pool_conv(z))))
            v = self._value_conv(z)
            total = (_sums(v) * _TOTAL + (1 << 15)) >> 16
            hidden = self._value_hidden(torch.cat((_mean_max(v), total), 1))
            points = p.flatten(2).transpose(1, 2)
            owner = v.flatten(2).transpose(1, 2)
            passed = self._policy_pass(_mean_max(p))
            return Logits(
                policy=torch.cat((self._policy_point(points), passed[:, None]), 1),
                value=self._value(hidden),
                score_mean=self._score_mean(hidden),
                score_spread=self._score_spread(hidden),
                ownership=self._ownership(owner),
            )


@contextmanager
def exactly(device: torch.device) -> Iterator[None]:
    """fp32 matrix products in true fp32 while it lasts, whatever this process allows elsewhere."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(before)


class _Conv:
    """A convolution with requantisation, int32 [N, in, rows, cols] to int32 [N, out, rows, cols]."""

    def __init__(self, layer: ConvLayer, device: torch.device) -> None:
        self._side = 3 if layer.taps == 9 else 1
        taps_last = _s8(layer.weights, layer.outputs, layer.taps, layer.inputs).permute(0, 2, 1)
        self._weights = taps_last.reshape(layer.outputs, -1).float().to(device)
        shift = _column(layer.shift, device)
        self._shift, self._offset = shift, _column(layer.bias, device) + _half(shift)
        self._multiplier = _column(layer.multiplier, device)
        self._stream = layer.stream

    def __call__(self, x: Tensor, pooled: Tensor | None = None) -> Tensor:
        n, _, rows, cols = x.shape
        columns = functional.unfold(x.float(), 3, padding=1) if self._side == 3 else x.float().flatten(2)
        acc = (self._weights @ columns).int().view(n, -1, rows, cols) + self._offset
        if pooled is not None:
            acc += pooled[:, :, None, None]
        r = _mulhrs(_sat16(acc >> self._shift), self._multiplier)
        return r if self._stream else r.clamp_(0, 127)


class _Norm:
    """The activation of the residual stream."""

    def __init__(self, layer: NormLayer, device: torch.device) -> None:
        self._bias, self._multiplier = _column(layer.bias, device), _column(layer.multiplier, device)

    def __call__(self, x: Tensor) -> Tensor:
        return _mulhrs(_sat16(x + self._bias), self._multiplier).clamp_(0, 127)


class _Dense:
    """A fully connected layer and its shift, int32 [N, in] to int32 [N, out]."""

    def __init__(self, layer: PoolLayer | HiddenLayer, device: torch.device) -> None:
        self._weights = _s8(layer.weights, layer.outputs, layer.inputs).double().T.contiguous().to(device)
        shift = _row(layer.shift, device)
        self._shift, self._offset = shift, _row(layer.bias, device) + _half(shift)

    def __call__(self, x: Tensor) -> Tensor:
        return ((x.double() @ self._weights).int() + self._offset) >> self._shift


class _Hidden:
    """The value head's hidden layer, to 0..127."""

    def __init__(self, layer: HiddenLayer, device: torch.device) -> None:
        self._dense, self._multiplier = _Dense(layer, device), _row(layer.multiplier, device)

    def __call__(self, x: Tensor) -> Tensor:
        return _mulhrs(_sat16(self._dense(x)), self._multiplier).clamp_(0, 127)


class _Logit:
    """One Q12 output, int32 [..., in] to int64 [...]."""

    def __init__(self, layer: LogitLayer, limit: int, device: torch.device) -> None:
        self._weights = _s8(layer.weights, layer.inputs).double().to(device)
        self._layer, self._limit = layer, limit

    def __call__(self, x: Tensor) -> Tensor:
        layer = self._layer
        acc = (x.double() @ self._weights).long() + layer.bias
        scaled = (acc * layer.multiplier + (1 << (layer.shift - 1))) >> layer.shift
        return scaled.clamp_(-self._limit, self._limit - 1)


class _Block:
    """A residual block on the stream."""

    def __init__(self, block: BlockLayers, device: torch.device) -> None:
        self._norm = _Norm(block.norm, device)
        self._conv1 = _Conv(block.conv1, device)
        self._pool = None if block.pool is None else _Dense(block.pool, device)
        self._conv2 = _Conv(block.conv2, device)

    def __call__(self, x: Tensor) -> Tensor:
        a = self._norm(x)
        pooled = None if self._pool is None else self._pool(_mean_max(a))
        return _sat16(x + self._conv2(self._conv1(a, pooled)))


def _s8(weights: bytes, *shape: int) -> Tensor:
    return torch.from_numpy(np.frombuffer(weights, np.int8).copy()).view(shape)


def _row(values: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def _column(values: tuple[int, ...], device: torch.device) -> Tensor:
    return _row(values, device).view(-1, 1, 1)


def _half(s: Tensor) -> Tensor:
    return torch.where(s > 0, torch.ones_like(s) << (s - 1).clamp_min(0), torch.zeros_like(s))


def _sat16(v: Tensor) -> Tensor:
    return v.clamp_(-32768, 32767)


def _mulhrs(a: Tensor, m: Tensor) -> Tensor:
    return (a * m + (1 << 14)) >> 15


def _sums(a: Tensor) -> Tensor:
    return a.sum((2, 3), dtype=torch.int32)


def _mean_max(a: Tensor) -> Tensor:
    n = a.shape[2] * a.shape[3]
    reciprocal = ((1 << 22) + n // 2) // n
    mean = (_sums(a) * reciprocal + (1 << 15)) >> 16
    return torch.cat((mean, 64 * a.amax((2, 3))), 1)


def planes_u8(planes: Tensor) -> Tensor:
    """The engine's u8 planes of float ones (1 is 64)."""
    if planes.shape[1] != PLANES:
        raise ValueError(f"{planes.shape[1]} planes instead of {PLANES}")
    return (planes * 64).round().to(torch.uint8)
