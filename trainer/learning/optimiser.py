"""Stochastic gradient descent with Nesterov momentum, gradient clipping, decoupled weight decay, and the averaged
weights that are exported.

Spec: docs/spec/train-state.md ("Step"). Norms and biases do not decay. All state is in three lists of tensors, so that
it can be saved and restored bit for bit.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from protocol.manifest import TrainingPolicy
from trainer.errors import LossNotFinite


class Optimiser:
    """Moves a network's weights; keeps their momentum and their exponential moving average (EMA)."""

    def __init__(self, net: nn.Module, policy: TrainingPolicy) -> None:
        named = list(net.named_parameters())
        self.names = [name for name, _ in named]
        self.weights: list[Tensor] = [weight for _, weight in named]
        self.momentum = [torch.zeros_like(weight, requires_grad=False) for weight in self.weights]
        self.average = [weight.detach().clone() for weight in self.weights]
        self._decaying = [weight for weight in self.weights if weight.dim() > 1]
        self._rate = policy.learning_rate_micro / 1e6
        self._warmup = policy.warmup_steps
        self._steps = [float(point.step) for point in policy.schedule] or [0.0]
        self._factors = [point.factor_ppm / 1e6 for point in policy.schedule] or [1.0]
        self._factor = policy.momentum_micro / 1e6
        self._decay = policy.weight_decay_micro / 1e6
        self._clip = policy.gradient_clip_micro / 1e6
        self._average = policy.ema_micro / 1e6

    def rate(self, age: int) -> float:
        """The learning rate of a network after `age` steps: the schedule's, and a linear warm-up."""
        factor = float(np.interp(float(age), self._steps, self._factors))
        return self._rate * factor * min(1.0, (age + 1) / (self._warmup + 1))

    def gradients(self) -> list[Tensor]:
        """What `backward` left, a tensor each weight; the tensors themselves."""
        for weight in self.weights:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        return [weight.grad for weight in self.weights if weight.grad is not None]

    @torch.no_grad()
    def step(self, age: int) -> float:
        """Applies the gradients that `backward` left and clears them; gives their norm. `age`: the network's steps so far.
        LossNotFinite changes nothing."""
        gradients = self.gradients()
        norm = float(torch.stack(torch._foreach_norm(gradients)).norm())
        if not math.isfinite(norm):
            raise LossNotFinite(f"The gradient after {age} steps is not a number.")
        if self._clip and norm > self._clip:
            torch._foreach_mul_(gradients, self._clip / norm)
        rate = self.rate(age)
        torch._foreach_mul_(self._decaying, 1.0 - rate * self._decay)
        torch._foreach_mul_(self.momentum, self._factor)
        torch._foreach_add_(self.momentum, gradients)
        torch._foreach_add_(gradients, self.momentum, alpha=self._factor)
        torch._foreach_add_(self.weights, gradients, alpha=-rate)
        torch._foreach_lerp_(self.average, self.weights, 1.0 - min(self._average, (1.0 + age) / (10.0 + age)))
        for weight in self.weights:
            weight.grad = None
        return norm
