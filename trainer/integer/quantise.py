"""The exact integer network of a trained float one.

Spec: docs/spec/network.md. `observe` measures the ranges of all activations on calibration rows, `quantise` folds the
norms and rounds. What comes out is a `NetworkFile`, which checks every bound of the format when it is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import torch
from torch import Tensor

from native.netfile import ACTIVATION_MAX, Architecture, BlockLayers, ConvLayer, LogitLayer, NetworkFile, NormLayer
from trainer.data.minibatch import Minibatch
from trainer.errors import TrainerError
from trainer.integer import integers
from trainer.integer.fake import activations
from trainer.integer.integers import Reals, StepTooSmall
from trainer.network.model import EPSILON, SCORE_SCALE, Block, Dense, GoNet, HeadConv, Norm

INPUT_STEP: Final = 1 / 64
_TAIL: Final = 0.9999
_LEAST: Final = 1e-3
_STREAM_MOST: Final = 32767


class NotQuantisable(TrainerError):
    """The weights have no integer form: they are not finite, or too large for every step."""

    exit_status = 1


@dataclass(frozen=True, slots=True)
class Ranges:
    """What calibration rows show: `tails`, an activation layer's high quantile of its positive values; `largest`, the
    largest magnitude of each channel of what the stream holds or is added to it."""

    tails: dict[str, float]
    largest: dict[str, Reals]

    def held(self, name: str) -> float:
        """The largest value that an activation layer will hold."""
        return max(self.tails.get(name, 0.0), _LEAST)

    def all_held(self, shape: Architecture) -> Reals:
        """`held` for each layer of `activations`."""
        return np.array([self.held(name) for name in activations(shape)])


def observe(net: GoNet, parts: Iterable[Minibatch]) -> Ranges:
    """Runs `net` (in evaluation mode) over `parts` and measures."""
    tails: dict[str, list[float]] = {}
    largest: dict[str, Reals] = {}

    names = activations(net.shape)

    def watch(name: str, x: Tensor) -> Tensor:
        if name in names:
            values = x[x > 0]
            if len(values):
                rank = max(1, int(_TAIL * len(values)))
                tails.setdefault(name, []).append(float(values.kthvalue(rank).values))
        else:
            most = x.abs().amax((0, 2, 3)).double().numpy()
            largest[name] = np.maximum(largest[name], most) if name in largest else most
        return x

    with torch.no_grad():
        for part in parts:
            net(part.planes, part.whole, watch)
    return Ranges({name: float(np.mean(values)) for name, values in tails.items()}, largest)


def quantise(net: GoNet, ranges: Ranges) -> NetworkFile:
    """The integer network; raises NotQuantisable."""
    numbers = [float(most.max()) for name, most in ranges.largest.items() if name.endswith(".x")]
    step = max(1.5 * max(numbers) / _STREAM_MOST, 1e-6)
    if not all(bool(torch.isfinite(weight).all()) for weight in net.parameters()) or not np.isfinite(step):
        raise NotQuantisable("The network has weights that are not numbers.")
    for _ in range(8):
        try:
            return _Exporter(net, ranges, step).file()
        except StepTooSmall as error:
            step = 1.01 * error.step
    raise NotQuantisable("No step of the stream holds the network's weights.")


class _Exporter:
    """One attempt at one stream step."""

    def __init__(self, net: GoNet, ranges: Ranges, step: float) -> None:
        self._net, self._ranges, self._step = net, ranges, step

    def file(self) -> NetworkFile:
        net, shape = self._net, self._net.shape
        stem = integers.stream_conv(
            _real(net.stem.weight).reshape(shape.channels, -1, 9),
            np.full(net.stem.weight.shape[1], INPUT_STEP),
            self._step,
            self._ranges.largest["stem.added"],
        )
        blocks = tuple(self._block(cast(Block, block), f"block{i}") for i, block in enumerate(net.blocks))
        tip, z = self._norm(net.tip, "tip.a")
        pool_conv, g, _ = self._head_conv(net.pool_conv, "pool_conv.t", z, None)
        pooled = np.concatenate((g, g)) / 64
        policy_conv, p, unit = self._head_conv(
            net.policy_conv, "policy_conv.t", z, integers.least_unit(_real(net.policy_pool.weight), pooled)
        )
        value_conv, v, _ = self._head_conv(net.value_conv, "value_conv.t", z, None)
        hidden = net.value_hidden
        value_hidden, h = integers.hidden(
            _real(hidden.weight),
            _bias(hidden),
            np.concatenate((v, v, v)) / 64,
            np.full(shape.hidden, self._target("value_hidden.t")),
        )
        return NetworkFile(
            architecture=shape,
            stem=stem,
            blocks=blocks,
            tip=tip,
            pool_conv=pool_conv,
            policy_conv=policy_conv,
            policy_pool=integers.pool(_real(net.policy_pool.weight), pooled, unit),
            policy_point=_logit(net.policy_point, p),
            policy_pass=_logit(net.policy_pass, np.concatenate((p, p)) / 64, pooled=True),
            value_conv=value_conv,
            value_hidden=value_hidden,
            value=_logit(net.value, h),
            score_mean=_logit(net.score_mean, h, times=SCORE_SCALE),
            score_spread=_logit(net.score_spread, h, times=SCORE_SCALE),
            ownership=_logit(net.ownership, v),
        )

    def _target(self, name: str) -> float:
        """The wanted step of an activation layer."""
        return self._ranges.held(name) / ACTIVATION_MAX

    def _norm(self, norm: Norm, name: str) -> tuple[NormLayer, Reals]:
        deviation = np.sqrt(_real(norm.variance) + EPSILON)
        return integers.norm(_real(norm.mean), deviation, _real(norm.beta), self._step, self._target(name))

    def _block(self, block: Block, name: str) -> BlockLayers:
        channels = self._net.shape.channels
        norm, a = self._norm(block.norm, f"{name}.a")
        weights, bias = _folded(block.conv1.weight, block.norm1)
        least = np.zeros(channels)
        pooled = np.concatenate((a, a)) / 64
        if block.pool is not None:
            least = integers.least_unit(_real(block.pool.weight), pooled)
        conv1, scaled = integers.conv(weights, bias, a, np.full(channels, self._target(f"{name}.t")), least)
        pool = None if block.pool is None else integers.pool(_real(block.pool.weight), pooled, scaled.unit)
        conv2 = integers.stream_conv(
            _real(block.conv2.weight).reshape(channels, channels, 9),
            scaled.steps,
            self._step,
            self._ranges.largest[f"{name}.added"],
        )
        return BlockLayers(norm, conv1, pool, conv2)

    def _head_conv(self, head: HeadConv, name: str, z: Reals, least: Reals | None) -> tuple[ConvLayer, Reals, Reals]:
        """The layer, its output steps, its accumulator units."""
        weights, bias = _folded(head.conv.weight, head.norm)
        outputs = len(bias)
        least = np.zeros(outputs) if least is None else least
        layer, scaled = integers.conv(weights, bias, z, np.full(outputs, self._target(name)), least)
        return layer, scaled.steps, scaled.unit


def _real(x: Tensor) -> Reals:
    return cast(Reals, x.detach().contiguous().double().numpy())


def _bias(dense: Dense) -> Reals:
    return np.zeros(len(dense.weight)) if dense.bias is None else _real(dense.bias)


def _folded(weight: Tensor, norm: Norm) -> tuple[Reals, Reals]:
    """Weights [out, in, taps] and biases of a convolution with the norm that follows it."""
    gain = 1 / np.sqrt(_real(norm.variance) + EPSILON)
    if norm.gamma is not None:
        gain = gain * _real(norm.gamma)
    flat = _real(weight).reshape(weight.shape[0], weight.shape[1], -1)
    return flat * gain[:, None, None], _real(norm.beta) - _real(norm.mean) * gain


def _logit(dense: Dense, input_steps: Reals, *, pooled: bool = False, times: float = 1.0) -> LogitLayer:
    return integers.logit(_real(dense.weight)[0] * times, float(_bias(dense)[0]) * times, input_steps, pooled=pooled)
