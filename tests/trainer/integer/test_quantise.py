"""From floats to integers: every bound holds, little is lost, and torch, scalar C and the fastest kernel agree."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from native.netfile import Architecture, NetworkFile
from native.network import Kernel, Network
from trainer.data.draws import random_words
from trainer.data.minibatch import collate
from trainer.data.reader import read_window
from trainer.integer import integers
from trainer.integer.integers import StepTooSmall, factor
from trainer.integer.quantise import NotQuantisable, observe, quantise
from trainer.integer.rounding import rounding
from trainer.integer.twin import Twin, planes_u8
from trainer.job import Job
from trainer.learning.learner import Learner
from trainer.network.model import GoNet
from trainer.network.moments import measure

STEP = 1e-3


@given(st.floats(1e-12, 0.9), st.sampled_from([(256, 511, 24), (16384, 32767, 24), (256, 511, 30)]))
def test_the_factor_is_the_smallest_that_is_large_enough(least: float, form: tuple[int, int, int]) -> None:
    low, high, most_shift = form
    found = factor(least, low, high, most_shift)
    if found is None:
        assert least > high / 2**15
        return
    multiplier, shift = found
    value = multiplier / 2.0 ** (15 + shift)
    assert low <= multiplier <= high
    assert value >= least
    finest = low / 2.0 ** (15 + most_shift)
    assert value <= max(least * (1 + 1 / low) * 2, finest * 1.01)


@given(st.integers(0, 2**32), st.floats(-6, 3), st.floats(-4, 1), st.floats(-3, 2))
def test_any_weights_become_layers_that_hold_the_bounds(seed: int, size: float, steps: float, bias: float) -> None:
    random = np.random.default_rng(seed)
    weights = random.normal(size=(4, 3, 9)) * 10.0**size
    offsets = random.normal(size=4) * 10.0**bias
    inputs = np.full(3, 10.0**steps)
    layer, scaled = integers.conv(weights, offsets, inputs, np.full(4, STEP), np.zeros(4))
    assert layer.inputs == 3
    assert (scaled.steps >= STEP).all()
    integers.pool(weights[:, :, 0], inputs, np.maximum(scaled.unit, integers.least_unit(weights[:, :, 0], inputs)))
    integers.hidden(weights[:, :, 0], offsets, inputs, np.full(4, STEP))
    integers.logit(weights[0, :, 0], float(offsets[0]), inputs, pooled=True)
    try:
        integers.stream_conv(weights, inputs, STEP, np.full(4, 20 * STEP))
    except StepTooSmall as error:
        integers.stream_conv(weights, inputs, error.step * 1.01, np.full(4, 20 * STEP))


def test_a_rounded_convolution_is_the_real_one_within_its_step() -> None:
    random = np.random.default_rng(1)
    weights, offsets = random.normal(size=(8, 6, 1)) * 0.3, random.normal(size=8) * 0.1
    layer, scaled = integers.conv(weights, offsets, np.full(6, 0.02), np.full(8, 0.02), np.zeros(8))
    x = random.integers(0, 128, (500, 6))
    real = np.maximum(x * 0.02 @ weights[:, :, 0].T + offsets, 0)
    packed = np.frombuffer(layer.weights, np.int8).reshape(8, 6)
    shift = np.array(layer.shift)
    acc = x @ packed.T.astype(int) + np.array(layer.bias) + np.where(shift > 0, 1 << np.maximum(shift - 1, 0), 0)
    v = np.clip(acc >> shift, -32768, 32767)
    r = np.clip((v * np.array(layer.multiplier) + (1 << 14)) >> 15, 0, 127)
    ceiling = 127 * scaled.steps
    assert np.abs(r * scaled.steps - np.minimum(real, ceiling)).max() < 2.5 * scaled.steps.max()


def test_a_norm_is_exact_up_to_its_bias() -> None:
    mean, deviation, beta = np.array([0.3, -1.0]), np.array([0.8, 2.0]), np.array([0.1, -0.2])
    layer, steps = integers.norm(mean, deviation, beta, 1e-3, 0.02)
    for channel in range(2):
        for x in (-2.0, 0.0, 0.7, 3.0):
            got = ((round(x / 1e-3) + layer.bias[channel]) * layer.multiplier[channel] + 2**14) >> 15
            want = max((x - mean[channel]) / deviation[channel] + beta[channel], 0)
            assert abs(min(max(got, 0), 127) * steps[channel] - min(want, 127 * steps[channel])) < steps[channel]


def planes_of(n: int, size: int) -> torch.Tensor:
    words = random_words(bytes(32), "planes", size, n * 20 * size * size)
    planes = (words % np.uint64(128)).astype(np.uint8).reshape(n, 20, size, size)
    planes[: n // 2] = np.where(planes[: n // 2] > 90, 64, 0)
    return torch.from_numpy(planes)


def assert_twin(file: bytes, planes: torch.Tensor) -> None:
    """The twin, the scalar kernel and the best one give the same integers."""
    logits = Twin(NetworkFile.parse(file)).evaluate(planes)
    network, size = Network.load(file), planes.shape[2]
    for kernel in {Kernel.SCALAR, Kernel.best()}:
        outputs = network.evaluate(kernel, size, size, planes.numpy().tobytes())
        assert logits.policy.tolist() == [list(out.policy) for out in outputs]
        assert logits.value.tolist() == [out.value for out in outputs]
        assert logits.score_mean.tolist() == [out.score_mean for out in outputs]
        assert logits.score_spread.tolist() == [out.score_spread for out in outputs]
        assert logits.ownership.tolist() == [list(out.ownership) for out in outputs]


@pytest.mark.parametrize(("blocks", "channels", "size"), [(2, 16, 7), (3, 32, 9), (2, 112, 7), (1, 64, 19)])
def test_the_twin_is_the_engine_bit_for_bit(blocks: int, channels: int, size: int) -> None:
    file = Network.first(bytes([size]) * 32, blocks, channels)
    assert_twin(file, planes_of(24 if size < 19 else 6, size))


@pytest.fixture
def learner(make_job: Any, batches: list[dict[str, Any]]) -> tuple[Learner, Any]:
    """A learner after 40 steps, and its window."""
    job = Job.load(make_job(batches))
    window, _ = read_window(job.batches, job.manifest, lambda file, why: pytest.fail(why))
    learner = Learner(job.manifest, job.seed)
    numbers = window.numbers(held_out=False)
    for step in range(40):
        learner.step(collate(window, numbers[step * 32 : step * 32 + 32], np.full(32, step % 8)), step)
    return learner, window


def test_a_trained_network_loses_little_and_is_the_twins(learner: tuple[Learner, Any]) -> None:
    trained, window = learner
    net = trained.averaged()
    numbers = window.numbers(held_out=False)[:300]
    parts = [collate(window, numbers, np.zeros(len(numbers), np.int64))]
    measure(net, parts)
    file = quantise(net, observe(net, parts))
    found = rounding(net, file, parts)
    assert found.rows == 300
    assert found.policy_divergence < 0.003
    assert found.value_error < 0.03
    assert found.same_first_move > 0.75
    planes = planes_u8(parts[0].planes)
    assert_twin(file.encode(), planes[:64])


def net_with(scale: float, shape: Architecture) -> GoNet:
    net = GoNet.seeded(shape, 3)
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(scale)
    return net


@pytest.mark.parametrize("scale", [1e-6, 0.1, 10.0, 100.0])
def test_weights_of_any_size_give_a_network_that_loads(
    scale: float, make_job: Any, batches: list[dict[str, Any]]
) -> None:
    job = Job.load(make_job(batches[:2]))
    window, _ = read_window(job.batches, job.manifest, lambda file, why: pytest.fail(why))
    numbers = np.arange(200)
    parts = [collate(window, numbers, np.zeros(200, np.int64))]
    net = net_with(scale, Architecture(3, 32))
    measure(net, parts)
    file = quantise(net, observe(net, parts)).encode()
    assert Network.load(file).architecture == Architecture(3, 32)
    assert_twin(file, planes_of(8, 7))


def test_weights_that_are_not_numbers_are_refused(make_job: Any, batches: list[dict[str, Any]]) -> None:
    job = Job.load(make_job(batches[:2]))
    window, _ = read_window(job.batches, job.manifest, lambda file, why: pytest.fail(why))
    parts = [collate(window, np.arange(50), np.zeros(50, np.int64))]
    net = net_with(math.nan, Architecture(2, 16))
    measure(net, parts)
    with pytest.raises(NotQuantisable):
        quantise(net, observe(net, parts))
