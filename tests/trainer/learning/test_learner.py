"""The learning rate of a network's age, the precision of a step, and where it runs."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from native.netfile import Architecture
from protocol.manifest import RatePoint
from trainer.data.minibatch import Minibatch
from trainer.errors import BadTensors, NoDevice
from trainer.learning.learner import Learner
from trainer.learning.state import Position
from trainer.network.loss import PARTS
from trainer.pin import capability, pin

SEED = bytes(32)
HERE = Position(bytes(32), 0, ())
POINTS = (RatePoint(100, 500_000), RatePoint(200, 2_000_000), RatePoint(300, 0))


def minibatch(n: int = 32) -> Minibatch:
    """Random boards whose owner, score, value and policy follow from their stones."""
    generator = torch.Generator().manual_seed(2)
    planes = torch.rand(n, 20, 7, 7, generator=generator).round()
    planes[:, 0] = 1
    ownership = (planes[:, 1] - planes[:, 2]).flatten(1)
    score = ownership.sum(1)
    policy = torch.cat((planes[:, 3].flatten(1) + 0.01, torch.ones(n, 1)), 1)
    policy = policy / policy.sum(1, keepdim=True)
    return Minibatch(
        planes=planes.contiguous(memory_format=torch.channels_last),
        legal=torch.ones(n, 50, dtype=torch.bool),
        policy=policy,
        opponent_policy=policy,
        result=score.sign(),
        root_value=torch.zeros(n),
        score=score,
        ownership=ownership,
        board=torch.ones(n, 49),
        whole=True,
    )


def test_the_rate_follows_the_schedule_after_a_warm_up(make_manifest: Any) -> None:
    optimiser = Learner(make_manifest(schedule=POINTS, warmup_steps=9), SEED).optimiser
    ages = (0, 9, 100, 150, 200, 250, 299, 300, 10**9)
    assert [round(optimiser.rate(age), 9) for age in ages] == [
        *(0.005, 0.05, 0.05, 0.125, 0.2, 0.1, 0.002, 0.0, 0.0),
    ]
    alone = Learner(make_manifest(schedule=POINTS[:1], warmup_steps=0), SEED).optimiser
    assert [alone.rate(age) for age in (0, 100, 10**6)] == [0.05] * 3


def test_a_grown_network_starts_with_its_own_age(make_manifest: Any) -> None:
    manifest, shape = make_manifest(warmup_steps=50), Architecture(3, 32)
    grown, first = (Learner(manifest, SEED, shape=shape, born=born) for born in (5000, 0))
    for learner in (grown, first):
        for done in range(3):
            learner.step(minibatch(), done)
    assert (grown.step_number, first.step_number) == (5003, 3)
    state = grown.state(HERE)
    assert (state.born, state.step, state.shape) == (5000, 5003, shape)
    for name, array in first.state(HERE).average.items():
        assert np.array_equal(array, state.average[name]), name
    again = Learner.resume(manifest, state)
    again.step(minibatch(), 3)
    grown.step(minibatch(), 3)
    assert again.state(HERE).encode() == grown.state(HERE).encode()


def test_quantised_steps_go_on_from_a_state_in_the_same_bytes(make_manifest: Any) -> None:
    learner = Learner(make_manifest(), SEED)
    plain = Learner(make_manifest(), SEED)
    for done in range(2):
        learner.step(minibatch(), done)
        plain.step(minibatch(), done)
    learner.quantise(np.full(9, 4.0))
    learner.step(minibatch(), 2)
    plain.step(minibatch(), 2)
    state = learner.state(HERE)
    assert state.ranges.tolist() == [4.0] * 9
    assert not np.array_equal(state.weights["stem.weight"], plain.state(HERE).weights["stem.weight"])
    again = Learner.resume(make_manifest(), state)
    for one in (learner, again):
        one.step(minibatch(), 3)
    assert again.state(HERE).encode() == learner.state(HERE).encode()
    with pytest.raises(BadTensors, match="ranges do not fit"):
        Learner.resume(make_manifest(), dataclasses.replace(state, ranges=np.full(8, 4.0)))


@pytest.mark.parametrize("whole", [True, False])
def test_bfloat16_learns_as_float32_does_and_keeps_float32_weights(make_manifest: Any, whole: bool) -> None:
    losses = {}
    for precision in ("float32", "bfloat16"):
        learner = Learner(make_manifest(precision=precision), SEED)
        batch = dataclasses.replace(minibatch(), whole=whole)
        for done in range(60):
            learner.step(batch, done)
        state = learner.state(HERE)
        assert {array.dtype for array in state.weights.values()} == {np.dtype(np.float32)}
        losses[precision] = dict(zip(PARTS, learner.running.tolist(), strict=True))
        repeated = Learner(make_manifest(precision=precision), SEED)
        for done in range(3):
            repeated.step(batch, done)
        twice = Learner(make_manifest(precision=precision), SEED)
        for done in range(3):
            twice.step(batch, done)
        assert twice.state(HERE).encode() == repeated.state(HERE).encode()
    whole_loss = [losses[precision]["loss"] for precision in ("float32", "bfloat16")]
    assert whole_loss[0] != whole_loss[1]
    assert whole_loss[1] == pytest.approx(whole_loss[0], rel=0.05)


def test_a_device_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoDevice, match=r"no CUDA device\.$"):
        pin(1, "cuda")
    assert "gpu" not in capability()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_gpu_learns_as_the_cpu_does_and_repeats_itself(make_manifest: Any) -> None:
    from trainer.learning.group import Group

    pin(1, "cuda")
    states = {}
    for name, group in (("cpu", Group()), ("cuda", Group(device="cuda")), ("again", Group(device="cuda"))):
        learner = Learner(make_manifest(), SEED, group)
        for done in range(5):
            learner.step(minibatch(), done)
        learner.quantise(np.full(9, 4.0))
        learner.step(minibatch(), 5)
        states[name] = learner.state(HERE)
    assert states["cuda"].encode() == states["again"].encode()
    for name, array in states["cpu"].weights.items():
        assert np.allclose(array, states["cuda"].weights[name], atol=1e-3), name
