"""A network of Leela Zero in training: one step at a time, to and from a saved state, and the averaged network at the end.

Losses are the policy's cross-entropy and that of who won, weighted as the training policy says; the optimiser is that of
all our trainings. Norms train with each minibatch's moments; the averaged network's are measured anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from protocol.codec import Value
from trainer.errors import BadTensors, LossNotFinite
from trainer.learning.learner import seed_of
from trainer.learning.optimiser import Optimiser
from trainer.learning.tensors import Array, TensorFile
from trainer.leela_zero.job import LeelaZeroJob
from trainer.leela_zero.positions import Batch
from trainer.network.leela_zero import LeelaZeroNet, NormedConv

PARTS: Final = ("loss", "policy_loss", "value_loss")
KIND: Final = "leela-zero-state"
_RUNNING = 0.98


class LeelaZeroLearner:
    """The network of a job, after `done` of its steps; `running` holds running means of its losses (PARTS)."""

    def __init__(self, job: LeelaZeroJob) -> None:
        self._job = job
        self.device = torch.device(job.device)
        self._net = LeelaZeroNet.seeded(job.blocks, job.channels, seed_of(job.seed, "weights")).to(self.device).train()
        self._optimiser = Optimiser(self._net, job.policy)
        self.done = 0
        self.running = np.zeros(len(PARTS))

    def step(self, batch: Batch) -> None:
        """One step; raises LossNotFinite without taking it."""
        self._net.train()
        found = self.losses(self._net, batch.to(self.device))
        values = found.detach().double().cpu().numpy()
        if not np.isfinite(values).all():
            raise LossNotFinite(f"The loss of step {self.done + 1} is not a number.")
        found[0].backward()  # type: ignore[no-untyped-call]
        self._optimiser.step(self.done)
        self.running = values if self.done == 0 else _RUNNING * self.running + (1 - _RUNNING) * values
        self.done += 1

    def losses(self, net: LeelaZeroNet, batch: Batch) -> Tensor:
        """Weighted sum, policy, value: means over the batch, [3]."""
        policy = self._job.policy
        with torch.autocast(self.device.type, torch.bfloat16, enabled=policy.precision == "bfloat16"):
            heads = net(batch.planes)
        each = (
            functional.cross_entropy(heads.policy.float(), batch.policy),
            functional.binary_cross_entropy_with_logits(2.0 * heads.value.float(), batch.won),
        )
        total = each[0] * (policy.policy_weight_micro / 1e6) + each[1] * (policy.value_weight_micro / 1e6)
        return torch.stack((total, *each))

    @torch.no_grad()
    def averaged(self, batches: Iterable[Batch]) -> LeelaZeroNet:
        """The network of the averaged weights, its norms' moments the means over `batches`; in evaluation mode."""
        net = LeelaZeroNet(self._job.blocks, self._job.channels).to(self.device).train()
        _restore(list(net.named_parameters()), [average.cpu().numpy() for average in self._optimiser.average])
        for i, batch in enumerate(batches):
            for module in net.modules():
                if isinstance(module, NormedConv):
                    module.momentum = 1.0 / (i + 1)
            net(batch.to(self.device).planes)
        return net.eval()

    def encode(self) -> bytes:
        """All that training goes on from."""
        optimiser = self._optimiser
        groups = {"weights": optimiser.weights, "momentum": optimiser.momentum, "average": optimiser.average}
        tensors: dict[str, Array] = {"running": self.running}
        for group, held in groups.items():
            for name, tensor in zip(optimiser.names, held, strict=True):
                tensors[f"{group}/{name}"] = np.array(tensor.detach().cpu().numpy())
        facts: dict[str, Value] = {"kind": KIND, "job": self._job.digest(), "done": self.done}
        return TensorFile(facts, tensors).encode()

    @classmethod
    def parse(cls, data: bytes, job: LeelaZeroJob) -> Self:
        """The learner that `encode` saved; raises BadTensors when it is not of this job."""
        file = TensorFile.parse(data)
        done = file.facts.get("done")
        if file.facts.get("kind") != KIND or file.facts.get("job") != job.digest() or type(done) is not int:
            raise BadTensors("The state is not one of this job.")
        learner = cls(job)
        optimiser = learner._optimiser
        names = optimiser.names
        try:
            for group, held in (
                ("weights", optimiser.weights),
                ("momentum", optimiser.momentum),
                ("average", optimiser.average),
            ):
                _restore(list(zip(names, held, strict=True)), [file.tensors[f"{group}/{name}"] for name in names])
            learner.running = np.array(file.tensors["running"], np.float64)
        except (KeyError, ValueError) as error:
            raise BadTensors("The state's tensors are not those of the network.") from error
        learner.done = done
        return learner


@torch.no_grad()
def _restore(named: Sequence[tuple[str, Tensor | nn.Parameter]], arrays: Sequence[Array]) -> None:
    for (name, tensor), array in zip(named, arrays, strict=True):
        if array.shape != tuple(tensor.shape):
            raise ValueError(name)
        tensor.copy_(torch.from_numpy(np.array(array)))
