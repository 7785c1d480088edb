"""The float network: exactly the architecture of docs/spec/network.md, with batch norms and one head more.

Every norm uses the minibatch's own moments while training and fixed ones (`trainer.network.moments`) otherwise, so there
are no running averages to save. Norms of the stream have no scale, so that they fold into the integer form.
The opponent's policy is a training-only head. Activations off a smaller board are kept 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from native.netfile import PLANES, Architecture
from trainer.learning.group import ALONE, Group
from trainer.network.shared_norm import EPSILON as EPSILON
from trainer.network.shared_norm import moments_of, shared_norm

SCORE_SCALE = 16.0
LARGEST_BOARD = 361

Watch = Callable[[str, Tensor], Tensor]
"""Is shown each activation by name, and gives what takes its place."""


def unchanged(name: str, x: Tensor) -> Tensor:
    """The watch that does nothing."""
    return x


@dataclass(frozen=True, slots=True)
class Heads:
    """Outputs for N rows on a canvas of P points, in natural units.

    policy and opponent_policy [N, P + 1] logits; value [N] with P(win) - P(loss) = tanh(value); score_mean and
    score_spread [N] in points, the spread before softplus; ownership [N, P] with expected owner tanh(ownership).
    """

    policy: Tensor
    opponent_policy: Tensor
    value: Tensor
    score_mean: Tensor
    score_spread: Tensor
    ownership: Tensor


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where the boards lie: mask [N, 1, S, S] (None: everywhere) and points on each board [N]; `group`: who else has
    rows of the minibatch."""

    mask: Tensor | None
    points: Tensor
    group: Group = ALONE

    @classmethod
    def of(cls, planes: Tensor, whole: bool, group: Group = ALONE) -> Canvas:
        """The canvas of input planes; `whole`: every board fills it."""
        board = planes[:, :1]
        return cls(None if whole else board, board.sum((1, 2, 3)), group)

    def cut(self, x: Tensor) -> Tensor:
        """x with everything off the boards set to 0."""
        return x if self.mask is None else x * self.mask


class Norm(nn.Module):
    """Batch norm over the points of the boards; `scaled` False: no gamma (norms of the stream)."""

    def __init__(self, channels: int, *, scaled: bool) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(channels)) if scaled else None
        self.beta = nn.Parameter(torch.zeros(channels))
        self.mean = torch.zeros(channels)
        self.variance = torch.ones(channels)
        self.collect: list[tuple[float, Tensor, Tensor]] | None = None

    def forward(self, x: Tensor, canvas: Canvas) -> Tensor:
        if not self.training:
            return functional.batch_norm(x, self.mean, self.variance, self.gamma, self.beta, False, 0.0, EPSILON)
        count = canvas.points.sum()
        if self.collect is not None:
            mean, variance = moments_of(x, canvas.mask, count)
            self.collect.append((float(count), mean.double(), variance.double()))
        elif canvas.group.size == 1 and canvas.mask is None:
            return functional.batch_norm(x, None, None, self.gamma, self.beta, True, 0.0, EPSILON)
        return shared_norm(x, canvas.mask, count, self.gamma, self.beta, canvas.group)


class Conv(nn.Module):
    """A convolution without bias: 3x3 with zero border, or 1x1."""

    def __init__(self, inputs: int, outputs: int, side: int, gain: float = math.sqrt(2.0)) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, side, side))
        self.gain = gain / math.sqrt(inputs * side * side)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.weight, padding=self.weight.shape[-1] // 2)


class Dense(nn.Module):
    """A fully connected layer."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool, gain: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.gain = gain / math.sqrt(inputs)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)


class Block(nn.Module):
    """Pre-activation residual block, with a pooled bias when it is a pooled one."""

    def __init__(self, channels: int, *, pooled: bool) -> None:
        super().__init__()
        self.norm = Norm(channels, scaled=False)
        self.conv1 = Conv(channels, channels, 3)
        self.norm1 = Norm(channels, scaled=True)
        self.pool = Dense(2 * channels, channels, bias=False, gain=0.5) if pooled else None
        self.conv2 = Conv(channels, channels, 3, 1.0)

    def forward(self, x: Tensor, canvas: Canvas, name: str, watch: Watch) -> Tensor:
        a = watch(f"{name}.a", canvas.cut(torch.relu_(self.norm(x, canvas))))
        t = self.norm1(self.conv1(a), canvas)
        if self.pool is not None:
            t = t + self.pool(torch.cat(mean_max(a, canvas), 1))[:, :, None, None]
        t = watch(f"{name}.t", canvas.cut(torch.relu_(t)))
        added = watch(f"{name}.added", canvas.cut(self.conv2(t)))
        return x + added


class HeadConv(nn.Module):
    """1x1 convolution and norm: the features of a head, before the pooled bias and ReLU."""

    def __init__(self, channels: int, head: int) -> None:
        super().__init__()
        self.conv = Conv(channels, head, 1)
        self.norm = Norm(head, scaled=True)

    def forward(self, x: Tensor, canvas: Canvas) -> Tensor:
        y: Tensor = self.norm(self.conv(x), canvas)
        return y


class GoNet(nn.Module):
    """The network b{blocks}c{channels}; see `Heads` for what it gives. In training, norms use the moments of the whole
    minibatch, of which each process of `group` has a part."""

    def __init__(self, shape: Architecture) -> None:
        super().__init__()
        c, k, h = shape.channels, shape.head, shape.hidden
        self.shape = shape
        self.group = ALONE
        self.stem = Conv(PLANES, c, 3)
        self.blocks = nn.ModuleList(Block(c, pooled=shape.is_pooled(i)) for i in range(shape.blocks))
        self.tip = Norm(c, scaled=False)
        self.pool_conv, self.policy_conv, self.value_conv = (HeadConv(c, k) for _ in range(3))
        self.policy_pool = Dense(2 * k, k, bias=False, gain=0.5)
        self.policy_point = Dense(k, 1, bias=False, gain=0.3)
        self.policy_pass = Dense(2 * k, 1, bias=True, gain=0.3)
        self.opponent_point = Dense(k, 1, bias=False, gain=0.3)
        self.opponent_pass = Dense(2 * k, 1, bias=True, gain=0.3)
        self.value_hidden = Dense(3 * k, h, bias=True, gain=math.sqrt(2.0))
        self.value = Dense(h, 1, bias=True, gain=0.3)
        self.score_mean = Dense(h, 1, bias=True, gain=0.3)
        self.score_spread = Dense(h, 1, bias=True, gain=0.3)
        self.ownership = Dense(k, 1, bias=True, gain=0.3)

    @classmethod
    def seeded(cls, shape: Architecture, seed: int) -> GoNet:
        """The network whose weights are drawn from a 63-bit seed; biases are 0."""
        net = cls(shape)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for module in net.modules():
                if isinstance(module, Conv | Dense):
                    module.weight.normal_(0.0, module.gain, generator=generator)
        return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]

    def forward(self, planes: Tensor, whole: bool, watch: Watch = unchanged) -> Heads:
        """`planes` [N, 20, S, S] with binary planes 0 or 1. Under autocast the stream and the heads stay float32."""
        canvas = Canvas.of(planes, whole, self.group)
        x = watch("stem.added", canvas.cut(self.stem(planes).float()))
        for i, block in enumerate(self.blocks):
            x = block(watch(f"block{i}.x", x), canvas, f"block{i}", watch)
        z = watch("tip.a", canvas.cut(torch.relu_(self.tip(watch("tip.x", x), canvas))))

        g = watch("pool_conv.t", canvas.cut(torch.relu_(self.pool_conv(z, canvas))))
        pooled = self.policy_pool(torch.cat(mean_max(g, canvas), 1))
        p = canvas.cut(torch.relu_(self.policy_conv(z, canvas) + pooled[:, :, None, None]))
        p = watch("policy_conv.t", p)
        p_pooled = torch.cat(mean_max(p, canvas), 1)

        v = watch("value_conv.t", canvas.cut(torch.relu_(self.value_conv(z, canvas))))
        mean, most = mean_max(v, canvas)
        total = mean * (canvas.points / LARGEST_BOARD)[:, None]
        hidden = watch("value_hidden.t", torch.relu_(self.value_hidden(torch.cat((mean, most, total), 1))))
        points = (p.permute(0, 2, 3, 1).flatten(1, 2), v.permute(0, 2, 3, 1).flatten(1, 2))
        return Heads(
            policy=torch.cat((self.policy_point(points[0])[:, :, 0], self.policy_pass(p_pooled)), 1).float(),
            opponent_policy=torch.cat(
                (self.opponent_point(points[0])[:, :, 0], self.opponent_pass(p_pooled)), 1
            ).float(),
            value=self.value(hidden)[:, 0].float(),
            score_mean=self.score_mean(hidden)[:, 0].float() * SCORE_SCALE,
            score_spread=self.score_spread(hidden)[:, 0].float() * SCORE_SCALE,
            ownership=self.ownership(points[1])[:, :, 0].float(),
        )


def mean_max(x: Tensor, canvas: Canvas) -> tuple[Tensor, Tensor]:
    """Means over each board's points and maxima, [N, C] each; x is 0 off the boards and nowhere negative."""
    flat = x.permute(0, 2, 3, 1).flatten(1, 2)
    return flat.sum(1) / canvas.points[:, None], _most(flat)


def _most(flat: Tensor) -> Tensor:
    """Maxima over the points of [N, P, C]."""
    most: Tensor = _Most.apply(flat)  # type: ignore[no-untyped-call]
    return most


class _Most(torch.autograd.Function):
    """`amax`, and its gradient, equal parts to equal maxima, in fewer and smaller tensors."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor) -> Tensor:
        most = flat.amax(1)
        ctx.save_for_backward(flat, most)
        return most

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        flat, most = ctx.saved_tensors
        is_most = torch.empty_like(flat)
        torch.eq(flat, most[:, None], out=is_most)
        return is_most.mul_((gradients[0] / is_most.sum(1))[:, None])
