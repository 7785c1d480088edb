"""The losses of a minibatch, as docs/spec/train-state.md ("Losses") defines them, weighted by the manifest.

All are means over the rows that carry the target, in all processes of a group. The moves that the rules forbid are left
out of the policy, as the search leaves them out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from protocol.manifest import TrainingPolicy
from trainer.data.minibatch import Minibatch
from trainer.learning.group import ALONE, Group
from trainer.network.model import Heads

PARTS = ("loss", "policy_loss", "opponent_policy_loss", "value_loss", "score_loss", "ownership_loss")
_HUBER_POINTS = 12.0
_DEVIATION_OF_MEAN_ERROR = math.sqrt(math.pi / 2)


@dataclass(frozen=True, slots=True)
class LossWeights:
    """The manifest's weights as floats; `root_share` of the value target is the search's own value."""

    policy: float
    opponent_policy: float
    value: float
    score: float
    ownership: float
    root_share: float

    @classmethod
    def of(cls, policy: TrainingPolicy) -> LossWeights:
        """From the manifest."""
        return cls(
            policy.policy_weight_micro / 1e6,
            policy.opponent_policy_weight_micro / 1e6,
            policy.value_weight_micro / 1e6,
            policy.score_weight_micro / 1e6,
            policy.ownership_weight_micro / 1e6,
            policy.value_root_share_ppm / 1e6,
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """What the parts are means over, in the whole minibatch: rows, rows with either policy target, points of boards."""

    rows: Tensor
    policy: Tensor
    opponent_policy: Tensor
    points: Tensor

    @classmethod
    def of(cls, batch: Minibatch, group: Group = ALONE) -> Totals:
        """Those of the minibatch of which every process of `group` has a part."""
        mine = (
            torch.tensor(float(len(batch.result)), device=batch.result.device),
            *(target.sum(1).gt(0).sum().float() for target in (batch.policy, batch.opponent_policy)),
            batch.board.sum(),
        )
        rows, policy, opponent_policy, points = group.total(torch.stack(mine)).unbind()
        return cls(rows, policy.clamp_min(1), opponent_policy.clamp_min(1), points)


def losses(heads: Heads, batch: Minibatch, weights: LossWeights, totals: Totals | None = None) -> Tensor:
    """f32 [6] in the order of PARTS: the weighted sum, then each part unweighted. Policies as excess over the target's
    own entropy (a Kullback-Leibler divergence), so that 0 is perfect.

    With the `totals` of a minibatch of which `batch` is a part: this part's share, and the shares add up to its losses.
    """
    totals = Totals.of(batch) if totals is None else totals
    policy = _divergence(heads.policy.masked_fill(~batch.legal, -1e9), batch.policy, totals.policy)
    on_board = torch.cat((batch.board > 0, torch.ones_like(batch.legal[:, :1])), 1)
    opponent = _divergence(
        heads.opponent_policy.masked_fill(~on_board, -1e9), batch.opponent_policy, totals.opponent_policy
    )
    target = (1 - weights.root_share) * batch.result + weights.root_share * batch.root_value
    share = len(batch.result) / totals.rows
    value = share * functional.binary_cross_entropy_with_logits(2 * heads.value, (1 + target) / 2)
    error = batch.score - heads.score_mean
    spread = functional.softplus(heads.score_spread)
    score = _huber(heads.score_mean, batch.score) + _huber(spread, _DEVIATION_OF_MEAN_ERROR * error.detach().abs())
    score = share * score / _HUBER_POINTS**2
    owner = (
        functional.binary_cross_entropy_with_logits(
            2 * heads.ownership, (1 + batch.ownership) / 2, weight=batch.board, reduction="sum"
        )
        / totals.points
    )
    whole = (
        weights.policy * policy
        + weights.opponent_policy * opponent
        + weights.value * value
        + weights.score * score
        + weights.ownership * owner
    )
    return torch.stack((whole, policy, opponent, value, score, owner))


def _huber(found: Tensor, wanted: Tensor) -> Tensor:
    return functional.huber_loss(found, wanted, delta=_HUBER_POINTS)


def _divergence(logits: Tensor, target: Tensor, rows: Tensor) -> Tensor:
    """Kullback-Leibler divergence of the softmax from the target, summed and divided by the rows that have a target."""
    log = functional.log_softmax(logits, 1)
    own = torch.where(target > 0, target * target.clamp_min(1e-30).log(), torch.zeros_like(target))
    return (own - target * log).sum() / rows
