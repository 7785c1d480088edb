"""Leela Zero's network as a torch module: 18 planes of a 19x19 board, a residual tower, a policy and a value.

It computes what `leelaz` does with the same weights file (`trainer.network.leela_zero_weights`). Norms have no gamma; in
training they use the minibatch's moments and keep running averages, which is what the file holds. Points are numbered as
Leela Zero does: row by row from the bottom left corner, the pass last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from trainer.network.leela_zero_weights import (
    EPSILON,
    PLANES,
    POINTS,
    POLICY_MAPS,
    VALUE_HIDDEN,
    VALUE_MAPS,
    Array,
    Connected,
    FoldedConv,
    LeelaZeroWeights,
    line_sizes,
)

_MOMENTUM = 0.05


class LeelaZeroHeads(NamedTuple):
    """For N positions: policy logits [N, 362], and value [N], the side to move winning with (1 + tanh(value)) / 2."""

    policy: Tensor
    value: Tensor

    @property
    def win_rate(self) -> Tensor:
        """How often the side to move wins, [N] in 0..1; what `leelaz` prints."""
        return (1.0 + self.value.tanh()) / 2.0


class NormedConv(nn.Module):
    """A convolution without bias, and a norm with beta alone; no ReLU. `momentum`: how much of its averages the next
    minibatch in training becomes."""

    mean: Tensor
    variance: Tensor

    def __init__(self, inputs: int, outputs: int, side: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs, side, side))
        self.beta = nn.Parameter(torch.zeros(outputs))
        self.register_buffer("mean", torch.zeros(outputs))
        self.register_buffer("variance", torch.ones(outputs))
        self.momentum = _MOMENTUM

    def forward(self, x: Tensor) -> Tensor:
        y = functional.conv2d(x, self.weight, padding=self.weight.shape[-1] // 2)
        return functional.batch_norm(
            y, self.mean, self.variance, None, self.beta, self.training, self.momentum, EPSILON
        )

    def fold(self) -> FoldedConv:
        """As in a file: beta in the biases, all else as it is."""
        deviation = (self.variance + EPSILON).sqrt()
        return FoldedConv(*map(_array, (self.weight, self.beta * deviation, self.mean, self.variance)))

    @torch.no_grad()
    def unfold(self, conv: FoldedConv) -> None:
        """Takes over what a file holds."""
        self.weight.copy_(torch.from_numpy(conv.weights))
        self.mean.copy_(torch.from_numpy(conv.mean))
        self.variance.copy_(torch.from_numpy(conv.variance))
        self.beta.copy_(torch.from_numpy(conv.bias) / (self.variance + EPSILON).sqrt())


class LeelaZeroNet(nn.Module):
    """A network of `blocks` residual blocks of `channels` channels; its weights are 0 until drawn or taken over."""

    def __init__(self, blocks: int, channels: int) -> None:
        super().__init__()
        line_sizes(blocks, channels)
        self.blocks, self.channels = blocks, channels
        self.input = NormedConv(PLANES, channels, 3)
        self.tower = nn.ModuleList(NormedConv(channels, channels, 3) for _ in range(2 * blocks))
        self.policy_conv = NormedConv(channels, POLICY_MAPS, 1)
        self.policy = nn.Linear(POLICY_MAPS * POINTS, POINTS + 1)
        self.value_conv = NormedConv(channels, VALUE_MAPS, 1)
        self.value_hidden = nn.Linear(VALUE_MAPS * POINTS, VALUE_HIDDEN)
        self.value = nn.Linear(VALUE_HIDDEN, 1)

    @classmethod
    def seeded(cls, blocks: int, channels: int, seed: int) -> Self:
        """The network whose weights are drawn from a 63-bit seed; biases and betas are 0, and so is the policy's last layer:
        noise in its 362 x 722 weights would have to be unlearnt before anything of the tower can be learnt through them.
        Raises BadWeights for a size that no file may have."""
        net = cls(blocks, channels)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for module in net.modules():
                if isinstance(module, NormedConv | nn.Linear):
                    fan_in = module.weight[0].numel()
                    module.weight.normal_(0.0, math.sqrt(2.0 / fan_in), generator=generator)
                if isinstance(module, nn.Linear):
                    module.bias.zero_()
            net.policy.weight.zero_()
        return net

    @classmethod
    def of(cls, weights: LeelaZeroWeights) -> Self:
        """The network of a file, in evaluation mode."""
        net = cls(weights.blocks, weights.channels)
        net.input.unfold(weights.input)
        for conv, folded in zip(net._convs(), weights.tower, strict=True):
            conv.unfold(folded)
        net.policy_conv.unfold(weights.policy_conv)
        net.value_conv.unfold(weights.value_conv)
        for layer, connected in (
            (net.policy, weights.policy),
            (net.value_hidden, weights.value_hidden),
            (net.value, weights.value),
        ):
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(connected.weights))
                layer.bias.copy_(torch.from_numpy(connected.bias))
        return net.eval()

    def weights(self) -> LeelaZeroWeights:
        """What a file of this network holds; raises BadWeights when a number is not finite."""
        return LeelaZeroWeights(
            input=self.input.fold(),
            tower=tuple(conv.fold() for conv in self._convs()),
            policy_conv=self.policy_conv.fold(),
            policy=_connected(self.policy),
            value_conv=self.value_conv.fold(),
            value_hidden=_connected(self.value_hidden),
            value=_connected(self.value),
        )

    def forward(self, planes: Tensor) -> LeelaZeroHeads:
        """`planes` [N, 18, 19, 19] of 0 and 1: own stones now and after each of the 7 moves before, the opponent's
        alike, then a plane of ones, the first when black is to move and the second when white is."""
        x = torch.relu(self.input(planes))
        for i in range(self.blocks):
            first, second = self.tower[2 * i], self.tower[2 * i + 1]
            x = torch.relu(second(torch.relu(first(x))) + x)
        policy = self.policy(torch.relu(self.policy_conv(x)).flatten(1))
        hidden = torch.relu(self.value_hidden(torch.relu(self.value_conv(x)).flatten(1)))
        return LeelaZeroHeads(policy, self.value(hidden)[:, 0])

    def _convs(self) -> Iterable[NormedConv]:
        return cast(Iterable[NormedConv], self.tower)


def _connected(layer: nn.Linear) -> Connected:
    return Connected(_array(layer.weight), _array(layer.bias))


def _array(tensor: Tensor) -> Array:
    return np.array(tensor.detach().cpu().numpy(), np.float32)
