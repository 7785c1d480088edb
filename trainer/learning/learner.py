"""The network in training and its optimiser: one step at a time, to and from a TrainState.

Spec: docs/spec/train-state.md ("Step", "Quantised steps"). A step is a function of the state and the minibatch; nothing
else is kept. Weights and optimiser are float32 on the group's device; what is saved and exported is on the CPU.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor

from native.netfile import Architecture
from protocol.manifest import Manifest
from trainer.data.minibatch import Minibatch
from trainer.errors import BadTensors, LossNotFinite, LossSpike
from trainer.integer.fake import FakeQuantiser
from trainer.learning.group import ALONE, Group
from trainer.learning.optimiser import Optimiser
from trainer.learning.state import Position, TrainState
from trainer.learning.tensors import Array
from trainer.network.loss import PARTS, LossWeights, Totals, losses
from trainer.network.model import GoNet, Heads

_RUNNING = 0.98
_SPIKE_TIMES = 4.0
_SPIKE_MORE = 1.0
_SPIKE_AFTER = 50


class Learner:
    """Trains a network of a run. `step_number` counts the steps of the run, `born` of them before this network was."""

    def __init__(
        self,
        manifest: Manifest,
        seed: bytes,
        group: Group = ALONE,
        *,
        shape: Architecture | None = None,
        born: int = 0,
    ) -> None:
        """The float network that the seed draws, before its first step; each process of `group` has the same. Without a
        `shape` it is the manifest's."""
        self.shape = Architecture.parse(manifest.network.shape) if shape is None else shape
        self.device = torch.device(group.device)
        self.net = GoNet.seeded(self.shape, seed_of(seed, "weights")).to(self.device)
        self.group = self.net.group = group
        self.weights = LossWeights.of(manifest.training)
        self.optimiser = Optimiser(self.net, manifest.training)
        self.born = self.step_number = born
        self.running = np.zeros(len(PARTS))
        self.ranges: Array = np.zeros(0)
        self._fake: FakeQuantiser | None = None
        self._is_mixed = manifest.training.precision == "bfloat16"

    @classmethod
    def resume(cls, manifest: Manifest, state: TrainState, group: Group = ALONE) -> Self:
        """The learner that `state` saved; raises BadTensors when its tensors are of another network."""
        learner = cls(manifest, bytes(32), group, shape=state.shape, born=state.born)
        if state.running.shape != learner.running.shape:
            raise BadTensors("The train state has other running losses than this trainer keeps.")
        optimiser = learner.optimiser
        with torch.no_grad():
            _restore(optimiser.names, optimiser.weights, state.weights)
            _restore(optimiser.names, optimiser.momentum, state.momentum)
            _restore(optimiser.names, optimiser.average, state.average)
        learner.step_number, learner.running = state.step, np.array(state.running, np.float64)
        if len(state.ranges):
            learner.quantise(np.array(state.ranges, np.float64))
        return learner

    def state(self, position: Position) -> TrainState:
        """All there is to save."""
        optimiser = self.optimiser
        named = [
            {name: _array(tensor) for name, tensor in zip(optimiser.names, tensors, strict=True)}
            for tensors in (optimiser.weights, optimiser.momentum, optimiser.average)
        ]
        return TrainState(
            *(self.shape, self.step_number, self.born, position, self.running.copy(), self.ranges.copy()), *named
        )

    def quantise(self, ranges: Array) -> None:
        """From the next step on the network is trained as it will be rounded, its activations within `ranges`; raises
        BadTensors when these are not of this network."""
        try:
            self._fake = FakeQuantiser(self.shape, np.asarray(ranges, np.float64))
        except ValueError as error:
            raise BadTensors(f"The train state's ranges do not fit its network: {error}.") from error
        self.ranges = ranges

    def step(self, batch: Minibatch, done: int) -> None:
        """One step on this process' part of a minibatch, `done` being the steps before it in the cycle.

        Every process of the group takes it, or none: raises LossNotFinite or LossSpike without taking it.
        """
        self.net.train()
        batch = _on(self.device, batch)
        totals = Totals.of(batch, self.group)
        found = losses(self._evaluate(batch), batch, self.weights, totals)
        values = self.group.total(found.detach().double()).cpu().numpy()
        if not np.isfinite(values).all():
            raise LossNotFinite(f"The loss of step {self.step_number + 1} is not a number.")
        if done >= _SPIKE_AFTER and values[0] > _SPIKE_TIMES * self.running[0] + _SPIKE_MORE:
            raise LossSpike(
                f"The loss of step {self.step_number + 1} is {values[0]:.3f} after a mean of {self.running[0]:.3f}."
            )
        found[0].backward()  # type: ignore[no-untyped-call]
        self.group.add_up(self.optimiser.gradients())
        self.optimiser.step(self.step_number - self.born)
        self.step_number += 1
        self.running = values if done == 0 else _RUNNING * self.running + (1 - _RUNNING) * values

    def _evaluate(self, batch: Minibatch) -> Heads:
        if self._fake is not None:
            return self._fake(self.net, batch.planes, batch.whole)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._is_mixed):
            return cast(Heads, self.net(batch.planes, batch.whole))

    def averaged(self) -> GoNet:
        """A network of the averaged weights on the CPU, which is what gets exported."""
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


def _on(device: torch.device, batch: Minibatch) -> Minibatch:
    if device.type == "cpu":
        return batch
    named = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    moved: dict[str, Any] = {name: x.to(device) for name, x in named.items() if isinstance(x, Tensor)}
    return dataclasses.replace(batch, **moved)


def _array(tensor: Tensor) -> Array:
    return cast(Array, tensor.detach().contiguous().cpu().clone().numpy())


def _restore(names: Sequence[str], tensors: Sequence[Tensor], saved: Mapping[str, Array]) -> None:
    for name, tensor in zip(names, tensors, strict=True):
        array = saved.get(name)
        if array is None or array.shape != tuple(tensor.shape) or array.dtype != np.float32:
            raise BadTensors(f"The train state lacks {name}, or has it in another shape.")
        tensor.copy_(torch.from_numpy(array.copy()))
    if len(saved) != len(names):
        raise BadTensors("The train state has tensors that the network lacks.")
