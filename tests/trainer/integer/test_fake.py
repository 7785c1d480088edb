"""Training as rounded: the values are those of the integer network, the gradients those of the float one."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from native.netfile import Architecture
from tests.trainer.integer.random_positions import part_of, positions_of
from trainer.data.minibatch import Minibatch
from trainer.integer.fake import FakeQuantiser, activations
from trainer.integer.quantise import Ranges, observe, quantise
from trainer.integer.twin import Twin, planes_u8
from trainer.network.model import GoNet, Heads
from trainer.network.moments import measure

SHAPE = Architecture(2, 16)


@pytest.fixture(scope="module")
def part() -> Minibatch:
    return part_of(positions_of(7, 300))


@pytest.fixture
def net(part: Minibatch) -> GoNet:
    net = GoNet.seeded(SHAPE, 11)
    measure(net, [part])
    return net


def fake_of(ranges: Ranges) -> FakeQuantiser:
    return FakeQuantiser(SHAPE, ranges.all_held(SHAPE))


def test_activations_are_those_that_the_network_shows(net: GoNet, part: Minibatch) -> None:
    shown = []

    def watch(name: str, x: Tensor) -> Tensor:
        shown.append(name)
        return x

    net(part.planes, True, watch)
    rounded = [name for name in shown if not name.endswith((".x", ".added"))]
    assert tuple(rounded) == activations(SHAPE)


def test_it_is_nearer_to_the_integers_than_the_floats_are(net: GoNet, part: Minibatch) -> None:
    ranges = observe(net, [part])
    logits = Twin(quantise(net, ranges)).evaluate(planes_u8(part.planes))
    with torch.no_grad():
        real, fake = net(part.planes, True), fake_of(ranges)(net, part.planes, True)

    def error(heads: Heads) -> float:
        policy = (heads.policy - logits.policy / 4096).square().mean()
        ownership = (heads.ownership - logits.ownership / 4096).square().mean()
        return float(policy / logits.policy.div(4096).var() + ownership / logits.ownership.div(4096).var())

    assert 0 < error(fake) < 0.7 * error(real)


def test_what_is_not_exported_is_not_rounded(net: GoNet, part: Minibatch) -> None:
    fake = fake_of(observe(net, [part]))
    before = fake(net, part.planes, True)
    with torch.no_grad():
        net.opponent_point.weight.add_(1e-4 * torch.rand_like(net.opponent_point.weight))
    after = fake(net, part.planes, True)
    assert torch.equal(before.policy, after.policy)
    assert (before.opponent_policy != after.opponent_policy).float().mean() > 0.9


def test_gradients_pass_through_rounding_and_stop_beyond_the_range() -> None:
    fake = FakeQuantiser(SHAPE, np.full(len(activations(SHAPE)), 1.27))
    x = torch.tensor([0.004, 0.006, 1.264, 1.27, 1.5], requires_grad=True)
    y = fake._round("tip.a", x)
    assert y.tolist() == pytest.approx([0.0, 0.01, 1.26, 1.27, 1.27])
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1, 1, 1, 0]
    assert fake._round("tip.x", x) is x


def test_every_weight_learns(net: GoNet, part: Minibatch) -> None:
    heads = fake_of(observe(net, [part]))(net.train(), part.planes, True)
    torch.stack([getattr(heads, field.name).square().sum() for field in dataclasses.fields(heads)]).sum().backward()
    for name, weight in net.named_parameters():
        assert weight.grad is not None, name
        assert bool(torch.isfinite(weight.grad).all()), name
        assert bool((weight.grad != 0).any()), name


@pytest.mark.parametrize("ranges", [np.ones(8), np.zeros(9), np.full(9, np.nan), np.ones((3, 3))])
def test_ranges_that_do_not_fit_are_refused(ranges: np.ndarray) -> None:
    assert len(activations(SHAPE)) == 9
    with pytest.raises(ValueError, match="9 positive ranges"):
        FakeQuantiser(SHAPE, ranges)
