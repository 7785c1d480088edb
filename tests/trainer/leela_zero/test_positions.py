"""Packed positions as minibatches: what the node packs is what the network is shown."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.leela_zero.games import game_positions
from node.exchange.leela_zero.position import TrainingPosition
from tests.trainer.leela_zero.test_games import drawn_game
from trainer.errors import BadRows, NoRows
from trainer.leela_zero.positions import Positions, turn

SEED = bytes(range(32))


def some(count: int) -> list[TrainingPosition]:
    moves = [(37 * i + 5) % 361 for i in range(count)]
    policies = [{move: 0.75, 361: 0.25} for move in moves]
    return game_positions(Game(Rules(19, 19, 15)), moves, policies, Colour.WHITE)


def stored(path: Path, positions: list[TrainingPosition], held_out_ppm: int = 0) -> Positions:
    data = b"".join(position.pack() for position in positions)
    path.write_bytes(data)
    return Positions(path, hashlib.sha256(data).digest(), SEED, held_out_ppm)


def test_positions_as_they_are(tmp_path: Path) -> None:
    positions = some(21)
    held = stored(tmp_path / "p", positions)
    (batch,) = held.batches(held.trained, 64)
    for i, position in enumerate(positions):
        bits = "".join(f"{plane:0361b}" for plane in position.planes)
        assert batch.planes[i, :16].flatten().tolist() == [float(bit) for bit in bits]
        assert batch.planes[i, 16].unique().tolist() == [float(position.to_move == Colour.BLACK)]
        assert batch.planes[i, 17].unique().tolist() == [float(position.to_move == Colour.WHITE)]
        torch.testing.assert_close(batch.policy[i], torch.tensor(position.policy))
        assert float(batch.won[i]) == position.is_won


def test_draws_turn_planes_and_policy_alike(tmp_path: Path) -> None:
    """The move that was played is on an empty point, under every symmetry, and the pass stays where it is."""
    held = stored(tmp_path / "p", some(60))
    batch = held.draw(3, 200)
    again = held.draw(3, 200)
    assert torch.equal(batch.planes, again.planes)
    assert not torch.equal(batch.planes, held.draw(4, 200).planes)
    best = batch.policy[:, :361].argmax(1)
    assert (batch.policy[:, 361] == 0.25).all()
    assert batch.policy[torch.arange(200), best].tolist() == [0.75] * 200
    assert not (batch.planes[:, 0] + batch.planes[:, 8]).flatten(1)[torch.arange(200), best].any()
    assert len(best.unique()) > 90, "sixty moves, turned"


def test_eight_symmetries() -> None:
    board = np.arange(361).reshape(19, 19)
    assert len({turn(board, symmetry).tobytes() for symmetry in range(8)}) == 8


def test_held_out_games_are_not_drawn(tmp_path: Path) -> None:
    games = [drawn_game(seed) for seed in range(30)]
    held = stored(tmp_path / "p", [position for game in games for position in game], 200_000)
    numbers = sorted([*held.held_out, *held.trained])
    assert numbers == list(range(sum(map(len, games))))
    ends = np.cumsum([len(game) for game in games])
    out = set(held.held_out)
    whole = [out >= set(range(end - len(game), end)) for game, end in zip(games, ends, strict=True)]
    assert 2 <= sum(whole) <= 14
    assert sum(len(game) for game, is_whole in zip(games, whole, strict=True) if is_whole) == len(out)


def test_what_it_refuses(tmp_path: Path) -> None:
    with pytest.raises(NoRows, match="Every game is held out"):
        stored(tmp_path / "p", some(3), 10**6)
    with pytest.raises(NoRows, match="no position"):
        stored(tmp_path / "p", [])
    with pytest.raises(BadRows, match="not those of the job"):
        Positions(tmp_path / "p", bytes(32), SEED, 0)
    with pytest.raises(BadRows, match="cannot be read"):
        Positions(tmp_path / "none", bytes(32), SEED, 0)
