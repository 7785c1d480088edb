"""What a cycle says of its network: losses on held-out rows, and what rounding to integers cost.

Spec: docs/spec/train-state.md ("Result"). All on the averaged weights with fixed moments, as exported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from native.netfile import NetworkFile
from trainer.data.minibatch import Minibatch
from trainer.integer.twin import Twin, planes_u8
from trainer.network.loss import PARTS, LossWeights, losses
from trainer.network.model import GoNet

_Q12 = 4096.0


@dataclass(frozen=True, slots=True)
class Rounding:
    """Float against integers on `rows` rows: mean Kullback-Leibler divergence of the policies, root mean square and
    largest difference of the values (in -1..1), mean difference of the scores in points, share of equal first moves."""

    rows: int
    policy_divergence: float
    value_error: float
    value_error_largest: float
    score_error: float
    same_first_move: float


def validate(net: GoNet, parts: Sequence[Minibatch], weights: LossWeights) -> dict[str, float]:
    """Mean losses by the names of PARTS over minibatches, weighted by their rows; empty without any."""
    if not parts:
        return {}
    with torch.no_grad():
        found = torch.stack([losses(net(part.planes, part.whole), part, weights).double() for part in parts])
    rows = torch.tensor([len(part.result) for part in parts], dtype=torch.float64)
    means = (found * rows[:, None]).sum(0) / rows.sum()
    return dict(zip(PARTS, means.tolist(), strict=True))


def rounding(net: GoNet, file: NetworkFile, parts: Sequence[Minibatch]) -> Rounding:
    """Compares `net` (in evaluation mode) with its integer form; every part is of one board size."""
    twin = Twin(file)
    rows, sums, largest = 0, torch.zeros(4, dtype=torch.float64), 0.0
    with torch.no_grad():
        for part in parts:
            heads, logits = net(part.planes, part.whole), twin.evaluate(planes_u8(part.planes))
            real = _log_softmax(heads.policy.double(), part.legal)
            whole = _log_softmax(logits.policy / _Q12, part.legal)
            error = heads.value.double().tanh() - (logits.value / _Q12).tanh()
            score = (heads.score_mean.double() - logits.score_mean / _Q12).abs().sum()
            same = (real.argmax(1) == whole.argmax(1)).sum()
            sums += torch.stack((_divergence(real, whole, part.legal), error.square().sum(), score, same.double()))
            largest = max(largest, float(error.abs().max()))
            rows += len(part.result)
    divergence_mean, squared, score_error, same_move = (sums / max(rows, 1)).tolist()
    return Rounding(rows, divergence_mean, math.sqrt(squared), largest, score_error, same_move)


def divergence(reference: Tensor, other: Tensor, legal: Tensor) -> Tensor:
    """The Kullback-Leibler divergence of one integer policy from another, summed over rows, in nats; both Q12 logits."""
    return _divergence(_log_softmax(reference / _Q12, legal), _log_softmax(other / _Q12, legal), legal)


def _divergence(real: Tensor, other: Tensor, legal: Tensor) -> Tensor:
    return (real.exp() * (real - other)).masked_fill(~legal, 0.0).sum()


def _log_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    return logits.double().masked_fill(~legal, -1e9).log_softmax(1)
