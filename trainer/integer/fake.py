"""Training as the integer network will round: `FakeQuantiser`.

Spec: docs/spec/train-state.md ("Quantised steps"). Weights and activations take the values that `quantise` gives them
(64 levels of a convolution's largest weight an output, 127 of a fully connected one's; 127 of an activation layer's
range), and gradients pass as if they were not rounded, but for activations beyond the range. Norms keep the moments of
the minibatch; biases, the stream and the opponent's policy are not rounded.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.func import functional_call

from native.netfile import ACTIVATION_MAX, CONV_WEIGHT_MAX, FC_WEIGHT_MAX, Architecture
from trainer.network.model import GoNet, Heads

_NOT_EXPORTED = "opponent_"
_SMALLEST = 1e-12


def activations(shape: Architecture) -> tuple[str, ...]:
    """The names of the layers whose outputs are u8, as the network's watch is shown them, in order."""
    blocks = (f"block{i}.{part}" for i in range(shape.blocks) for part in ("a", "t"))
    return (*blocks, "tip.a", "pool_conv.t", "policy_conv.t", "value_conv.t", "value_hidden.t")


class FakeQuantiser:
    """Evaluates a network as if rounded, with a fixed range for each activation layer."""

    def __init__(self, shape: Architecture, ranges: npt.NDArray[np.float64]) -> None:
        """`ranges`: the largest value that each layer of `activations` holds, positive; ValueError if they do not fit."""
        names = activations(shape)
        if ranges.shape != (len(names),) or not (np.isfinite(ranges) & (ranges > 0)).all():
            raise ValueError(f"{len(names)} positive ranges are needed")
        self._steps = {name: float(most) / ACTIVATION_MAX for name, most in zip(names, ranges, strict=True)}

    def __call__(self, net: GoNet, planes: Tensor, whole: bool) -> Heads:
        """What `net(planes, whole)` gives, with rounded weights and activations; differentiable."""
        named = {name: _levels(weight) for name, weight in net.named_parameters() if _is_rounded(name, weight)}
        return cast(Heads, functional_call(net, named, (planes, whole, self._round)))

    def _round(self, name: str, x: Tensor) -> Tensor:
        step = self._steps.get(name)
        return x if step is None else torch.fake_quantize_per_tensor_affine(x, step, 0, 0, ACTIVATION_MAX)


def _is_rounded(name: str, weight: Tensor) -> bool:
    return weight.dim() > 1 and not name.startswith(_NOT_EXPORTED)


def _levels(weight: Tensor) -> Tensor:
    """The weight on the levels of each output, the largest of which is its largest magnitude."""
    most = CONV_WEIGHT_MAX if weight.dim() == 4 else FC_WEIGHT_MAX
    scale = weight.detach().flatten(1).abs().amax(1).clamp_min(_SMALLEST) / most
    zero = torch.zeros(len(weight), dtype=torch.int32, device=weight.device)
    return torch.fake_quantize_per_channel_affine(weight, scale, zero, 0, -most, most)
