"""What each process of a tested group does, in processes of their own; what it found lies in a file a process."""

import os
import tempfile
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.spawn import spawn

from native.netfile import PLANES, Architecture
from trainer.data.minibatch import Minibatch
from trainer.errors import PeerLost
from trainer.learning.group import ALONE, Group
from trainer.network.loss import LossWeights, Totals, losses
from trainer.network.model import GoNet, Heads
from trainer.network.shared_norm import shared_norm
from trainer.pin import pin

ROWS, CANVAS, CHANNELS = 24, 9, 16
WEIGHTS = LossWeights(1.0, 0.15, 1.0, 0.2, 0.3, 0.1)


def minibatch() -> Minibatch:
    """Random rows; the first third fills the canvas, policy targets become rare towards the end."""
    random = torch.Generator().manual_seed(3)
    sizes = torch.tensor([9] * (ROWS // 3) + [7, 9] * (ROWS // 3))
    on = torch.arange(CANVAS)[None] < sizes[:, None]
    board = (on[:, :, None] & on[:, None, :]).float()
    planes = torch.rand(ROWS, PLANES, CANVAS, CANVAS, generator=random).round() * board[:, None]
    planes[:, 0] = board
    legal = torch.cat((board.flatten(1) > 0, torch.ones(ROWS, 1, dtype=torch.bool)), 1)
    policies = []
    for every in (2, 3):
        target = torch.rand(ROWS, CANVAS * CANVAS + 1, generator=random) * legal
        has = (torch.arange(ROWS) < ROWS // 2) | (torch.arange(ROWS) % every == 0)
        policies.append(target / target.sum(1, keepdim=True) * has[:, None])
    signs = torch.rand(ROWS, generator=random).round() * 2 - 1
    return Minibatch(
        planes=planes.contiguous(memory_format=torch.channels_last),
        legal=legal,
        policy=policies[0],
        opponent_policy=policies[1],
        result=signs,
        root_value=signs / 2,
        score=torch.randn(ROWS, generator=random) * 20,
        ownership=(torch.rand(ROWS, CANVAS * CANVAS, generator=random) * 2 - 1) * board.flatten(1),
        board=board.flatten(1),
        whole=False,
    )


def part_of(batch: Minibatch, group: Group) -> Minibatch:
    """The rows that are this process'."""
    rows = ROWS // group.size
    mine = slice(group.rank * rows, (group.rank + 1) * rows)
    named = {field.name: getattr(batch, field.name) for field in fields(batch)}
    cut: dict[str, Any] = {name: value[mine] for name, value in named.items() if isinstance(value, Tensor)}
    return Minibatch(**cut, whole=bool((cut["board"] > 0).all()))


def norm(group: Group, *, masked: bool) -> dict[str, Tensor]:
    """A norm of this process' rows, and its gradients."""
    random = torch.Generator().manual_seed(5)
    inputs, wanted = (torch.randn(ROWS, CHANNELS, CANVAS, CANVAS, generator=random) for _ in range(2))
    rows = ROWS // group.size
    mine = slice(group.rank * rows, (group.rank + 1) * rows)
    board = minibatch().board.view(ROWS, 1, CANVAS, CANVAS)[mine] if masked else None
    x = (inputs[mine] * 3 + 7).contiguous(memory_format=torch.channels_last).requires_grad_()
    gamma, beta = (torch.linspace(low, 2, CHANNELS).requires_grad_() for low in (0.5, -1))
    count = torch.tensor(float(rows * CANVAS**2)) if board is None else board.sum()
    y = shared_norm(x, board, count, gamma, beta, group)
    (y * wanted[mine]).sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert gamma.grad is not None
    assert beta.grad is not None
    return {"y": y.detach(), "to_x": x.grad, "to_gamma": group.total(gamma.grad), "to_beta": group.total(beta.grad)}


def step(group: Group, precision: torch.dtype) -> tuple[Tensor, list[Tensor]]:
    """The losses of the whole minibatch and the gradients of a network's weights."""
    net = GoNet.seeded(Architecture(2, CHANNELS), 7).train()
    net.group = group
    batch = part_of(minibatch(), group)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        heads: Heads = net(batch.planes, batch.whole)
    found = losses(heads, batch, WEIGHTS, Totals.of(batch, group))
    found[0].backward()  # type: ignore[no-untyped-call]
    gradients = [weight.grad for weight in net.parameters() if weight.grad is not None]
    group.add_up(gradients)
    return group.total(found.detach()), gradients


def findings(group: Group) -> dict[str, Any]:
    """All of the above, and what each way of talking gives."""
    rank = group.rank
    flat = [torch.full((2, 2), float(rank + 1)), torch.tensor([10.0 * (rank + 1)])]
    group.add_up(flat)
    return {
        "gather": group.gather(torch.tensor([rank, 2 * rank])),
        "total": group.total(torch.tensor(float(rank + 1))),
        "add_up": flat,
        "is_any": [group.is_any(False), group.is_any(rank == group.size - 1), group.is_any(True)],
        "of_first": [group.of_first(b"first" if rank == 0 else b"another one"), group.of_first(b"")],
        "is_same": [group.is_same(b"same"), group.is_same(bytes([rank]))],
        "norm": norm(group, masked=False),
        "masked": norm(group, masked=True),
        "float32": step(group, torch.float32),
        "bfloat16": step(group, torch.bfloat16),
    }


def run(size: int) -> list[dict[str, Any]]:
    """The findings of each of `size` processes."""
    if size == 1:
        return [findings(ALONE)]
    with tempfile.TemporaryDirectory() as folder:
        spawn(_member, (size, folder), nprocs=size)
        return [torch.load(Path(folder, f"found-{rank}"), weights_only=False) for rank in range(size)]


def lose(dies: bool, timeout_s: float) -> float:
    """How long the first of two processes waits for the second, which ends, or says nothing, before it is told."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(_loser, (folder, dies, timeout_s), nprocs=2)
        return float(Path(folder, "waited").read_text())


def _join(rank: int, size: int, folder: str, timeout_s: float) -> Group:
    pin(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size)}
    return Group.join("cpu", Path(folder), timeout_s)


def _member(rank: int, size: int, folder: str) -> None:
    group = _join(rank, size, folder, 120)
    torch.save(findings(group), Path(folder, f"found-{rank}"))
    group.leave()


def _loser(rank: int, folder: str, dies: bool, timeout_s: float) -> None:
    group = _join(rank, 2, folder, timeout_s)
    group.is_any(False)
    started = time.monotonic()
    if rank == 1:
        if dies:
            os._exit(0)
        while not Path(folder, "waited").exists() and time.monotonic() < started + 60:
            time.sleep(0.05)
        os._exit(0)
    try:
        group.is_any(False)
    except PeerLost:
        Path(folder, "waited").write_text(str(time.monotonic() - started))
    os._exit(0)
