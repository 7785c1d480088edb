"""Packed positions (`trainer.leela_zero.packed`) as minibatches.

The draw and its symmetries are functions of (seed, step): nothing of it needs saving.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trainer.errors import BadRows, NoRows
from trainer.leela_zero.games import games_of
from trainer.leela_zero.packed import HISTORY_PLANES, RECORD
from trainer.network.leela_zero_weights import PLANES, POINTS, SIDE

_SYMMETRIES: Final = 8

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """N positions: planes [N, 18, 19, 19], policy [N, 362], won [N] in 0 and 1; all float32."""

    planes: Tensor
    policy: Tensor
    won: Tensor

    def to(self, device: torch.device) -> Batch:
        """The same on a device."""
        return Batch(self.planes.to(device), self.policy.to(device), self.won.to(device))


class Positions:
    """The positions of a file, of whose games some are held out whole; none of it is copied before it is drawn."""

    def __init__(self, path: Path, digest: bytes, seed: bytes, held_out_ppm: int) -> None:
        """Raises BadRows when the file is not the one with this SHA-256, NoRows when it holds nothing to train on."""
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").digest()
        except OSError as error:
            raise BadRows(f"The positions {path} cannot be read: {error.strerror}.") from error
        if found != digest:
            raise BadRows(f"The positions {path} are not those of the job.")
        if path.stat().st_size < RECORD.itemsize:
            raise NoRows("There is no position to train on.")
        self._records: npt.NDArray[Any] = np.memmap(path, RECORD, "r")
        self._seed = int.from_bytes(seed, "little")
        games = games_of(self._records)
        is_held = (np.random.default_rng((self._seed, 0)).integers(0, 10**6, games[-1] + 1) < held_out_ppm)[games]
        self.held_out: Numbers = np.flatnonzero(is_held)
        self.trained: Numbers = np.flatnonzero(~is_held)
        if not len(self.trained):
            raise NoRows("Every game is held out; give more of them, or set training.held_out lower.")

    def __len__(self) -> int:
        return len(self._records)

    def draw(self, step: int, size: int) -> Batch:
        """The minibatch of a step: positions drawn evenly, each with a symmetry of its own."""
        random = np.random.default_rng((self._seed, 1 + step))
        numbers = self.trained[random.integers(0, len(self.trained), size)]
        return self._lay_out(np.sort(numbers), random.integers(0, _SYMMETRIES, size))

    def batches(self, numbers: Numbers, size: int) -> Iterator[Batch]:
        """These positions as they are, `size` at a time."""
        for start in range(0, len(numbers), size):
            part = numbers[start : start + size]
            yield self._lay_out(part, np.zeros(len(part), np.int64))

    def _lay_out(self, numbers: Numbers, symmetries: Numbers) -> Batch:
        drawn = self._records[numbers]
        bits = np.unpackbits(drawn["planes"], axis=1).reshape(-1, HISTORY_PLANES, SIDE, SIDE)
        planes = np.zeros((len(drawn), PLANES, SIDE, SIDE), np.float32)
        policy = np.array(drawn["policy"])
        for i, symmetry in enumerate(symmetries):
            planes[i, :HISTORY_PLANES] = turn(bits[i], int(symmetry))
            policy[i, :POINTS] = turn(policy[i, :POINTS].reshape(SIDE, SIDE), int(symmetry)).ravel()
        planes[np.arange(len(drawn)), HISTORY_PLANES + (drawn["white"] != 0)] = 1.0
        policy /= policy.sum(1, keepdims=True)
        won = (drawn["won"] != 0).astype(np.float32)
        return Batch(torch.from_numpy(planes), torch.from_numpy(policy), torch.from_numpy(won))


def turn(boards: npt.NDArray[Any], symmetry: int) -> npt.NDArray[Any]:
    """Boards [..., 19, 19] under a symmetry: transposed if it has 4, then rows flipped if 1, columns if 2."""
    if symmetry & 4:
        boards = boards.swapaxes(-1, -2)
    if symmetry & 1:
        boards = boards[..., ::-1, :]
    return boards[..., ::-1] if symmetry & 2 else boards
