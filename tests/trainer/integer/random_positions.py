"""Positions of random games, and as rows to calibrate with."""

import random

import numpy as np
import numpy.typing as npt
import torch

from native.game import Game
from native.netfile import PLANES
from native.rules import Ko, Rules
from trainer.data.minibatch import Minibatch

Planes = npt.NDArray[np.uint8]


def positions_of(size: int, count: int) -> Planes:
    """Input planes of the positions of random games, u8 [count, 20, size, size]."""
    r = random.Random(size)
    rules = Rules(size, size, 15, ko=Ko.POSITIONAL, suicide=False, pass_alive=True, settled_end=True)
    found: list[bytes] = []
    while len(found) < count:
        game = Game(rules)
        while len(found) < count and any(legal := game.legal()):
            moves = [move for move, is_legal in enumerate(legal[:-1]) if is_legal]
            game.play(r.choice(moves) if moves and r.random() < 0.99 else size * size)
            found.append(game.features())
    return np.frombuffer(b"".join(found), np.uint8).reshape(count, PLANES, size, size)


def part_of(planes: Planes) -> Minibatch:
    """The positions as calibration rows, which need no targets."""
    n, size = len(planes), planes.shape[2]
    none, points = torch.zeros(n), torch.zeros(n, size * size)
    moves = torch.zeros(n, size * size + 1)
    real = torch.from_numpy(planes.astype(np.float32) / 64)
    return Minibatch(real, moves > 0, moves, moves, none, none, none, points, points, whole=True)
