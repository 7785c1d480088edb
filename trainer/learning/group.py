"""The processes that train one network together, each on its part of every minibatch: `Group`.

Spec: docs/spec/train-state.md ("More processes"). A process finds its group in the environment that `torchrun` sets; a
process without one is a group of its own, in which nothing is sent and no byte differs. What the methods give is the
same bits in every process, so that all take the same decisions. A process that is gone or silent is PeerLost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

import numpy as np
import torch
from torch import Tensor, distributed

from trainer.errors import BadJob, PeerLost
from trainer.learning.lines import MOST_BYTES, Lines

TIMEOUT_S: Final = 900.0
"""How long a process waits for the others: longer than they differ in opening a window."""


@dataclass(frozen=True, slots=True)
class Group:
    """Process `rank` of `size`, whose tensors live on `device`; `lines` on one machine, without a GPU."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"
    lines: Lines | None = None

    @classmethod
    def join(cls, device: str = "cpu", folder: Path | None = None, timeout_s: float = TIMEOUT_S) -> Self:
        """The group that the environment names (RANK, WORLD_SIZE, LOCAL_RANK): met through an empty `folder` that is
        private to it, on one machine, or without one at MASTER_ADDR and MASTER_PORT.

        Over gloo on CPUs, nccl on GPUs (one a process). Raises BadJob, PeerLost.
        """
        if not is_in_group():
            return cls(device=device)
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        if device == "cuda":
            local = int(os.environ.get("LOCAL_RANK", "0"))
            if local >= torch.cuda.device_count():
                raise BadJob(f"Process {rank} of {size} has no GPU: this machine has {torch.cuda.device_count()}.")
            torch.cuda.set_device(local)
            device = f"cuda:{local}"
        with _peers():
            distributed.init_process_group(
                "nccl" if device.startswith("cuda") else "gloo",
                init_method="env://" if folder is None else f"file://{folder / 'meeting'}",
                timeout=timedelta(seconds=timeout_s),
                rank=rank,
                world_size=size,
            )
            if folder is None or device != "cpu" or not Lines.is_possible(folder, size):
                return cls(rank, size, device)
            listener = Lines.listen(folder, rank)
            distributed.barrier()
            return cls(rank, size, device, Lines.connect(folder, rank, size, listener, timeout_s))

    def leave(self) -> None:
        """Ends the group; the others may still be at work."""
        if self.lines is not None:
            self.lines.close()
        if self.size > 1 and distributed.is_initialized():
            distributed.destroy_process_group()

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and speaks for all."""
        return self.rank == 0

    def gather(self, mine: Tensor) -> Tensor:
        """Every process' tensor, all of one shape, in the order of ranks: [size, ...]."""
        if self.size == 1:
            return mine[None]
        if self.lines is not None and mine.numel() * mine.element_size() <= MOST_BYTES:
            with _peers():
                parts = self.lines.exchange(mine.contiguous().numpy().tobytes())
            return torch.frombuffer(bytearray(b"".join(parts)), dtype=mine.dtype).view(self.size, *mine.shape)
        found = [torch.empty_like(mine) for _ in range(self.size)]
        with _peers():
            distributed.all_gather(found, mine.contiguous())
        return torch.stack(found)

    def total(self, mine: Tensor) -> Tensor:
        """The sum over all processes, in the order of ranks."""
        return mine if self.size == 1 else self.gather(mine).sum(0)

    def add_up(self, gradients: Sequence[Tensor]) -> None:
        """Replaces each tensor by its sum over all processes: one all-reduce of all of them, one after the other."""
        if self.size == 1:
            return
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        with _peers():
            distributed.all_reduce(flat)
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view(gradient.shape))

    def is_any(self, mine: bool) -> bool:
        """Whether it is so in any process. True is asked for twice, so that who died after the first answer is missed
        instead of being taken for one who wants to stop."""
        if self.size == 1:
            return mine
        asked = torch.tensor(float(mine), device=self.device)
        return bool(self.gather(asked).any()) and bool(self.gather(asked).any())

    def of_first(self, data: bytes) -> bytes:
        """The bytes that the first process gives, in all."""
        if self.size == 1:
            return data
        length = torch.tensor(len(data), dtype=torch.int64, device=self.device)
        with _peers():
            distributed.broadcast(length, 0)
            content = torch.empty(int(length), dtype=torch.uint8, device=self.device)
            if self.is_first:
                content.copy_(_bytes(data))
            distributed.broadcast(content, 0)
        return content.cpu().numpy().tobytes()

    def is_same(self, digest: bytes) -> bool:
        """Whether all processes give the same bytes, of one length."""
        if self.size == 1:
            return True
        found = self.gather(_bytes(digest).to(self.device))
        return bool((found == found[0]).all())


ALONE: Final = Group()


def is_in_group() -> bool:
    """Whether this process was started as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def _bytes(data: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(data, np.uint8).copy())


@contextmanager
def _peers() -> Iterator[None]:
    """Names what torch raises when another process is gone or does not answer."""
    try:
        yield
    except (RuntimeError, OSError, EOFError) as error:
        raise PeerLost("Another process of the group died or does not answer.") from error
