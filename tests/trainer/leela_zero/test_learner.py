"""A network of Leela Zero in training learns: by heart what it sees again and again, and a teacher's ways from its games."""

import hashlib
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from node.exchange.leela_zero.position import TrainingPosition
from tests.attacker import taught_game
from tests.trainer.conftest import manifest_of
from trainer.leela_zero.job import LeelaZeroJob
from trainer.leela_zero.learner import PARTS, LeelaZeroLearner
from trainer.leela_zero.positions import Numbers, Positions
from trainer.network.leela_zero import LeelaZeroNet


def job_of(folder: Path, positions: list[TrainingPosition], **policy: Any) -> LeelaZeroJob:
    data = b"".join(position.pack() for position in positions)
    (folder / "positions").write_bytes(data)
    return LeelaZeroJob(
        out=folder,
        positions=folder / "positions",
        positions_digest=hashlib.sha256(data).digest(),
        blocks=1,
        channels=8,
        policy=manifest_of(gradient_clip_micro=0, **policy).training,
        seed=bytes(range(32)),
        steps=1000,
        device="cpu",
        state_every_steps=1000,
    )


def positions_of(job: LeelaZeroJob) -> Positions:
    return Positions(job.positions, job.positions_digest, job.seed, job.policy.held_out_ppm)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@torch.no_grad()
def losses(learner: LeelaZeroLearner, net: LeelaZeroNet, positions: Positions, numbers: Numbers) -> dict[str, float]:
    """Of all these positions at once, as they are."""
    (batch,) = positions.batches(numbers, len(numbers))
    return dict(zip(PARTS, learner.losses(net, batch).tolist(), strict=True))


def test_it_learns_a_minibatch_by_heart(tmp_path: Path) -> None:
    taught = [position for seed in range(6) for position in taught_game(seed)[8:56:3]][:64]
    assert len({position.is_won for position in taught}) == 2
    job = job_of(tmp_path, taught, held_out_ppm=0)
    learner, positions = LeelaZeroLearner(job), positions_of(job)
    (batch,) = positions.batches(positions.trained, 64)
    assert len(batch.won) == 64
    learner.step(batch)
    assert learner.running[PARTS.index("policy_loss")] == pytest.approx(math.log(362))
    for _ in range(99):
        learner.step(batch)
    found = losses(learner, learner.averaged([batch]), positions, positions.trained)
    assert found["policy_loss"] < 0.05
    assert found["value_loss"] < 0.05


def test_it_learns_from_a_teacher(tmp_path: Path) -> None:
    """In some hundred steps, of positions that it has not seen, far more than that all moves are as good."""
    taught = [position for seed in range(20) for position in taught_game(seed)]
    job = job_of(tmp_path, taught, minibatch=64, held_out_ppm=100_000)
    learner, positions = LeelaZeroLearner(job), positions_of(job)
    for step in range(250):
        learner.step(positions.draw(step, 64))
    net = learner.averaged(positions.draw(250 + i, 64) for i in range(8))
    found = losses(learner, net, positions, positions.held_out)
    assert found["policy_loss"] < 4.5
    assert found["value_loss"] < 0.5
