"""The network in training and its optimiser: one step at a time, to and from a TrainState.

Spec: docs/spec/train-state.md ("Step"). A step is a function of the state and the minibatch; nothing else is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Self, cast

import numpy as np
import torch
from torch import Tensor

from native.netfile import Architecture
from protocol.manifest import Manifest
from trainer.data.minibatch import Minibatch
from trainer.errors import BadTensors, LossNotFinite, LossSpike
from trainer.learning.group import ALONE, Group
from trainer.learning.optimiser import Optimiser
from trainer.learning.state import Position, TrainState
from trainer.learning.tensors import Array
from trainer.network.loss import PARTS, LossWeights, Totals, losses
from trainer.network.model import GoNet

_RUNNING = 0.98
_SPIKE_TIMES = 4.0
_SPIKE_MORE = 1.0
_SPIKE_AFTER = 50


class Learner:
    """Trains the network of a manifest; `step_number` counts the steps of the run."""

    def __init__(self, manifest: Manifest, seed: bytes, group: Group = ALONE) -> None:
        """The float network that the seed draws, before its first step; each process of `group` has the same."""
        spec = manifest.network
        self.shape = Architecture(spec.blocks, spec.channels)
        self.net = GoNet.seeded(self.shape, seed_of(seed, "weights"))
        self.group = self.net.group = group
        self.weights = LossWeights.of(manifest.training)
        self.optimiser = Optimiser(self.net, manifest.training)
        self.step_number = 0
        self.running = np.zeros(len(PARTS))

    @classmethod
    def resume(cls, manifest: Manifest, state: TrainState, group: Group = ALONE) -> Self:
        """The learner that `state` saved; raises BadTensors when it is of another network."""
        learner = cls(manifest, bytes(32), group)
        if state.shape != learner.shape:
            raise BadTensors(f"The train state is of {state.shape.encode()}, the manifest's {learner.shape.encode()}.")
        if state.running.shape != learner.running.shape:
            raise BadTensors("The train state has other running losses than this trainer keeps.")
        optimiser = learner.optimiser
        with torch.no_grad():
            _restore(optimiser.names, optimiser.weights, state.weights)
            _restore(optimiser.names, optimiser.momentum, state.momentum)
            _restore(optimiser.names, optimiser.average, state.average)
        learner.step_number, learner.running = state.step, np.array(state.running, np.float64)
        return learner

    def state(self, position: Position) -> TrainState:
        """All there is to save."""
        optimiser = self.optimiser
        named = [
            {name: _array(tensor) for name, tensor in zip(optimiser.names, tensors, strict=True)}
            for tensors in (optimiser.weights, optimiser.momentum, optimiser.average)
        ]
        return TrainState(self.shape, self.step_number, position, self.running.copy(), *named)

    def step(self, batch: Minibatch, done: int) -> None:
        """One step on this process' part of a minibatch, `done` being the steps before it in the cycle.

        Every process of the group takes it, or none: raises LossNotFinite or LossSpike without taking it.
        """
        self.net.train()
        totals = Totals.of(batch, self.group)
        found = losses(self.net(batch.planes, batch.whole), batch, self.weights, totals)
        values = self.group.total(found.detach().double()).numpy()
        if not np.isfinite(values).all():
            raise LossNotFinite(f"The loss of step {self.step_number + 1} is not a number.")
        if done >= _SPIKE_AFTER and values[0] > _SPIKE_TIMES * self.running[0] + _SPIKE_MORE:
            raise LossSpike(
                f"The loss of step {self.step_number + 1} is {values[0]:.3f} after a mean of {self.running[0]:.3f}."
            )
        found[0].backward()  # type: ignore[no-untyped-call]
        self.group.add_up(self.optimiser.gradients())
        self.optimiser.step(self.step_number)
        self.step_number += 1
        self.running = values if done == 0 else _RUNNING * self.running + (1 - _RUNNING) * values

    def averaged(self) -> GoNet:
        """A network of the averaged weights, which is what gets exported."""
        net = GoNet(self.shape).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        named = dict(net.named_parameters())
        with torch.no_grad():
            for name, average in zip(self.optimiser.names, self.optimiser.average, strict=True):
                named[name].copy_(average)
        return cast(GoNet, net)


def seed_of(seed: bytes, purpose: str) -> int:
    """63 bits for torch's generator."""
    digest = hashlib.sha256(b"gonode/train-init/v1\0" + seed + purpose.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def _array(tensor: Tensor) -> Array:
    return cast(Array, tensor.detach().contiguous().clone().numpy())


def _restore(names: Sequence[str], tensors: Sequence[Tensor], saved: Mapping[str, Array]) -> None:
    for name, tensor in zip(names, tensors, strict=True):
        array = saved.get(name)
        if array is None or array.shape != tuple(tensor.shape) or array.dtype != np.float32:
            raise BadTensors(f"The train state lacks {name}, or has it in another shape.")
        tensor.copy_(torch.from_numpy(array.copy()))
    if len(saved) != len(names):
        raise BadTensors("The train state has tensors that the network lacks.")
