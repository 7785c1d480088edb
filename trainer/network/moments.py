"""Fixed moments for the norms of a trained network: measured once over calibration rows, not averaged along the way.

While measuring, every norm uses the moments of the part that goes through; parts are large, so that these hardly differ.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from trainer.data.minibatch import Minibatch
from trainer.network.model import GoNet, Norm


def measure(net: GoNet, parts: Iterable[Minibatch]) -> None:
    """Sets mean and variance of every norm over all points of `parts`; leaves `net` in evaluation mode."""
    norms = [module for module in net.modules() if isinstance(module, Norm)]
    for norm in norms:
        norm.collect = []
    net.train()
    with torch.no_grad():
        for part in parts:
            net(part.planes, part.whole)
    for norm in norms:
        counts, means, variances = zip(*(norm.collect or ()), strict=True)
        norm.collect = None
        share = torch.tensor(counts, dtype=torch.float64)[:, None] / sum(counts)
        mean_of = torch.stack(means)
        mean = (share * mean_of).sum(0)
        norm.mean = mean.float()
        norm.variance = (share * (torch.stack(variances) + (mean_of - mean) ** 2)).sum(0).float()
    net.eval()


def moments(net: GoNet) -> dict[str, Tensor]:
    """The moments of every norm by name, in the order of the layers."""
    found = {}
    for name, module in net.named_modules():
        if isinstance(module, Norm):
            found[f"{name}.mean"], found[f"{name}.variance"] = module.mean, module.variance
    return found
