"""Integer layers from real ones: each function picks (m, s) first and rounds the weights with the scale these imply.

Spec: docs/spec/network.md ("Hints for an exporter"). Steps: real = step times integer. All arrays are float64; `weights`
are [out, in] or [out, in, taps]; input steps have one entry an input, output steps one an output. What these
functions return keeps every bound of the spec.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from native.netfile import (
    ACTIVATION_MAX,
    CONV_SHIFT_MAX,
    CONV_WEIGHT_MAX,
    FC_WEIGHT_MAX,
    HIDDEN_SHIFT_MAX,
    LOGIT_SHIFT,
    POOLED_MAX,
    STREAM_MULTIPLIER,
    U8_MULTIPLIER,
    ConvLayer,
    HiddenLayer,
    LogitLayer,
    NormLayer,
    PoolLayer,
)

Reals = npt.NDArray[np.float64]

_Q12: Final = 4096.0
_STREAM_ROOM: Final = 1.1
_BIAS_MOST: Final = 1 << 29


class StepTooSmall(Exception):
    """The stream's step has to be at least `step`."""

    def __init__(self, step: float) -> None:
        super().__init__(f"the stream needs a step of {step}")
        self.step = step


@dataclass(frozen=True, slots=True)
class Scaled:
    """Rounded weights of layers whose output is requantised: integers, (m, s), and what they imply.

    `steps`: output steps, raised where a factor was out of reach; `unit`: the real size of one accumulator unit.
    """

    weights: npt.NDArray[np.int8]
    bias: tuple[int, ...]
    shift: tuple[int, ...]
    multiplier: tuple[int, ...]
    steps: Reals
    unit: Reals


def factor(least: float, low: int, high: int, most_shift: int) -> tuple[int, int] | None:
    """(m, s) with the smallest m / 2^(15 + s) of at least `least` and low <= m <= high, or None when out of reach."""
    for shift in range(most_shift, -1, -1):
        multiplier = max(math.ceil(least * 2.0 ** (15 + shift)), low)
        if multiplier <= high:
            return multiplier, shift
    return None


def scale(
    weights: Reals,
    bias: Reals,
    input_steps: Reals,
    steps: Reals,
    least: Reals,
    *,
    limits: tuple[int, int],
    lows: npt.NDArray[np.int64],
    weight_max: int,
    most_shift: int,
    input_max: int,
    sum_bits: int,
) -> Scaled:
    """Rounds weights for requantised outputs.

    `least` bounds the unit of each output from below; `lows` are the smallest multipliers allowed, `limits` those of
    the format. An output whose factor is out of reach gets a larger step.
    """
    outputs = len(weights)
    seen = weights.reshape(outputs, weights.shape[1], -1) * input_steps[None, :, None]
    flat = seen.reshape(outputs, -1)
    rounded = np.zeros(flat.shape, np.int8)
    steps, unit = steps.copy(), np.zeros(outputs)
    biases, shifts, multipliers = [], [], []
    for o in range(outputs):
        wanted = max(float(np.abs(flat[o]).max()) / weight_max, float(least[o]), 1e-12)
        while True:
            found = factor(wanted / steps[o], int(lows[o]), limits[1], most_shift)
            if found is None:
                steps[o] = wanted * 2.0**15 / limits[1] * (1 + 1e-12)
                continue
            multiplier, shift = found
            unit[o] = steps[o] * multiplier / 2.0 ** (15 + shift)
            row = np.clip(np.rint(flat[o] / unit[o]), -weight_max, weight_max)
            offset = int(np.rint(bias[o] / unit[o]))
            half = 1 << (shift - 1) if shift else 0
            if input_max * int(np.abs(row).sum()) + abs(offset) + half < 1 << sum_bits:
                break
            wanted = unit[o] * 1.25
        rounded[o] = row
        biases.append(offset)
        shifts.append(shift)
        multipliers.append(multiplier)
    return Scaled(rounded.reshape(seen.shape), tuple(biases), tuple(shifts), tuple(multipliers), steps, unit)


def conv(weights: Reals, bias: Reals, input_steps: Reals, steps: Reals, least: Reals) -> tuple[ConvLayer, Scaled]:
    """A convolution to u8 activations; the layer's weights are [out][tap][in]."""
    scaled = scale(
        *(weights, bias, input_steps, steps, least),
        limits=U8_MULTIPLIER,
        lows=np.full(len(weights), U8_MULTIPLIER[0]),
        weight_max=CONV_WEIGHT_MAX,
        most_shift=CONV_SHIFT_MAX,
        input_max=ACTIVATION_MAX,
        sum_bits=24,
    )
    return _conv_layer(scaled, stream=False), scaled


def stream_conv(weights: Reals, input_steps: Reals, step: float, largest: Reals) -> ConvLayer:
    """A convolution that adds to the stream of step `step`; `largest` is what it adds at most, so that nothing
    saturates. Raises StepTooSmall."""
    outputs = len(weights)
    lows = np.clip(np.ceil(_STREAM_ROOM * largest / step), *STREAM_MULTIPLIER).astype(np.int64)
    scaled = scale(
        *(weights, np.zeros(outputs), input_steps, np.full(outputs, step), np.zeros(outputs)),
        limits=STREAM_MULTIPLIER,
        lows=lows,
        weight_max=CONV_WEIGHT_MAX,
        most_shift=CONV_SHIFT_MAX,
        input_max=ACTIVATION_MAX,
        sum_bits=24,
    )
    needed = float(scaled.steps.max())
    if needed > step:
        raise StepTooSmall(needed)
    return _conv_layer(scaled, stream=True)


def _conv_layer(scaled: Scaled, *, stream: bool) -> ConvLayer:
    outputs, inputs, taps = scaled.weights.shape
    packed = np.ascontiguousarray(scaled.weights.transpose(0, 2, 1)).tobytes()
    return ConvLayer(inputs, outputs, taps, stream, packed, scaled.bias, scaled.shift, scaled.multiplier)


def norm(mean: Reals, deviation: Reals, beta: Reals, step: float, target: float) -> tuple[NormLayer, Reals]:
    """The stream's activation relu((x - mean) / deviation + beta) with output steps near `target`; gives them exactly."""
    multiplier = np.clip(np.rint(2.0**15 * step / (deviation * target)), 1, 32767)
    offset = np.clip(np.rint((beta * deviation - mean) / step), -32768, 32767)
    layer = NormLayer(len(mean), tuple(map(int, offset)), tuple(map(int, multiplier)))
    return layer, 2.0**15 * step / (deviation * multiplier)


def least_unit(weights: Reals, input_steps: Reals) -> Reals:
    """The smallest accumulator unit, an output, at which a pooled bias of these weights fits s8 with shift 0."""
    found: Reals = np.abs(weights * input_steps[None, :]).max(1) / FC_WEIGHT_MAX
    return found


def pool(weights: Reals, input_steps: Reals, unit: Reals) -> PoolLayer:
    """The pooled bias in the accumulator units of its convolution, each at least `least_unit`."""
    outputs, inputs = weights.shape
    seen = weights * input_steps[None, :] / unit[:, None]
    rounded = np.zeros(seen.shape, np.int8)
    shifts = []
    for o in range(outputs):
        most = float(np.abs(seen[o]).max())
        shift = CONV_SHIFT_MAX if most == 0 else min(CONV_SHIFT_MAX, math.floor(math.log2(FC_WEIGHT_MAX / most)))
        shift = max(shift, 0)
        rounded[o] = np.clip(np.rint(seen[o] * 2.0**shift), -FC_WEIGHT_MAX, FC_WEIGHT_MAX)
        shifts.append(shift)
    return PoolLayer(inputs, outputs, rounded.tobytes(), (0,) * outputs, tuple(shifts))


def hidden(weights: Reals, bias: Reals, input_steps: Reals, steps: Reals) -> tuple[HiddenLayer, Reals]:
    """The value head's hidden layer, and its output steps."""
    outputs, inputs = weights.shape
    scaled = scale(
        *(weights, bias, input_steps, steps, np.zeros(outputs)),
        limits=U8_MULTIPLIER,
        lows=np.full(outputs, U8_MULTIPLIER[0]),
        weight_max=FC_WEIGHT_MAX,
        most_shift=HIDDEN_SHIFT_MAX,
        input_max=POOLED_MAX,
        sum_bits=30,
    )
    layer = HiddenLayer(inputs, outputs, scaled.weights.tobytes(), scaled.bias, scaled.shift, scaled.multiplier)
    return layer, scaled.steps


def logit(weights: Reals, bias: float, input_steps: Reals, *, pooled: bool) -> LogitLayer:
    """One Q12 output of real weights [in]."""
    seen = weights * input_steps
    unit = max(float(np.abs(seen).max()) / FC_WEIGHT_MAX, abs(bias) / _BIAS_MOST, 1e-9)
    # A unit past the largest factor only meets logits far beyond their clamp.
    shift = min(max(math.floor(math.log2(32767 / (_Q12 * unit))), LOGIT_SHIFT[0]), LOGIT_SHIFT[1])
    multiplier = min(math.ceil(_Q12 * unit * 2.0**shift), 32767)
    unit = multiplier / 2.0**shift / _Q12
    rounded = np.clip(np.rint(seen / unit), -FC_WEIGHT_MAX, FC_WEIGHT_MAX).astype(np.int8)
    offset = int(np.clip(np.rint(bias / unit), -_BIAS_MOST, _BIAS_MOST))
    return LogitLayer(len(weights), pooled, rounded.tobytes(), offset, multiplier, shift)
