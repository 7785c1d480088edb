"""The float network, its losses and one step of its optimiser."""

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from native.netfile import Architecture
from trainer.data.minibatch import Minibatch
from trainer.learning.optimiser import Optimiser
from trainer.network.loss import PARTS, LossWeights, losses
from trainer.network.model import Canvas, GoNet, Heads, Norm, mean_max
from trainer.network.moments import measure

WEIGHTS = LossWeights(1.0, 0.15, 1.0, 0.2, 0.3, 0.25)


def boards(n: int, size: int, canvas: int) -> Tensor:
    """Random planes of boards of one size in the corner of a canvas."""
    generator = torch.Generator().manual_seed(size)
    planes = torch.zeros(n, 20, canvas, canvas)
    planes[:, :, :size, :size] = torch.rand(n, 20, size, size, generator=generator).round()
    planes[:, 0, :size, :size] = 1
    return planes


def net_of(seed: int = 5) -> GoNet:
    return GoNet.seeded(Architecture(2, 16), seed)


def test_the_seed_draws_the_network() -> None:
    one, two, other = net_of(), net_of(), net_of(6)
    assert all(bool((a == b).all()) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert bool((one.stem.weight != other.stem.weight).any())
    assert abs(float(one.blocks[0].conv1.weight.detach().std()) / math.sqrt(2 / (9 * 16)) - 1) < 0.1  # type: ignore[union-attr,operator]


def test_what_lies_beside_a_board_changes_nothing() -> None:
    net = net_of()
    part = boards(4, 7, 7)
    with torch.no_grad():
        net.train()(part, True)
    net.eval()
    with torch.no_grad():
        alone, padded = net(part, True), net(boards(4, 7, 10), False)
    for name in ("value", "score_mean", "score_spread"):
        assert torch.allclose(getattr(alone, name), getattr(padded, name), atol=1e-5)
    assert torch.allclose(alone.policy[:, -1], padded.policy[:, -1], atol=1e-5)
    cut = padded.policy[:, :100].view(4, 10, 10)[:, :7, :7].flatten(1)
    assert torch.allclose(alone.policy[:, :49], cut, atol=1e-5)
    owner = padded.ownership.view(4, 10, 10)[:, :7, :7].flatten(1)
    assert torch.allclose(alone.ownership, owner, atol=1e-5)


def test_both_ways_of_normalising_agree_in_value_and_gradient() -> None:
    x = torch.randn(6, 5, 7, 7, generator=torch.Generator().manual_seed(1))
    padded = torch.zeros(6, 5, 9, 9)
    padded[:, :, :7, :7] = x
    mask = torch.zeros(6, 1, 9, 9)
    mask[:, :, :7, :7] = 1
    points = torch.full((6,), 49.0)
    gradients, outputs = [], []
    for given, canvas in ((x, Canvas(None, points)), (padded, Canvas(mask, points))):
        norm = Norm(5, scaled=True)
        leaf = given.clone().requires_grad_()
        y = canvas.cut(norm(leaf, canvas))
        (y**3).sum().backward()
        assert leaf.grad is not None
        gradients.append(leaf.grad[:, :, :7, :7])
        outputs.append(y[:, :, :7, :7])
    assert torch.allclose(outputs[0], outputs[1], atol=1e-5)
    assert torch.allclose(gradients[0], gradients[1], atol=1e-4)


def test_equal_maxima_share_the_gradient() -> None:
    x = torch.randint(0, 4, (5, 3, 4, 4), generator=torch.Generator().manual_seed(2)).float()
    of_mean, of_most = torch.arange(15.0).view(5, 3), torch.arange(15.0).flip(0).view(5, 3)
    leaf, plain = x.clone().requires_grad_(), x.clone().requires_grad_()
    mean, most = mean_max(leaf, Canvas(None, torch.full((5,), 16.0)))
    (mean * of_mean + most * of_most).sum().backward()
    (plain.mean((2, 3)) * of_mean + plain.amax((2, 3)) * of_most).sum().backward()
    assert torch.equal(most, x.amax((2, 3)))
    assert leaf.grad is not None
    assert plain.grad is not None
    assert torch.allclose(leaf.grad, plain.grad, atol=1e-6)


def test_measured_moments_are_those_of_all_parts() -> None:
    net = net_of()
    part = dataclasses.replace(batch_of(12), planes=boards(12, 7, 7))
    measure(net, [part])
    with torch.no_grad():
        fixed = net(part.planes, True)
        own = net.train()(part.planes, True)
    assert torch.allclose(fixed.policy, own.policy, atol=1e-3)
    assert torch.allclose(fixed.value, own.value, atol=1e-3)
    x = net.stem(part.planes)
    assert torch.allclose(net.blocks[0].norm.mean, x.mean((0, 2, 3)), atol=1e-4)  # type: ignore[union-attr,arg-type]


def batch_of(n: int) -> Minibatch:
    generator = torch.Generator().manual_seed(3)
    policy = torch.rand(n, 50, generator=generator).softmax(1)
    sign = torch.randint(0, 2, (n,), generator=generator) * 2.0 - 1
    return Minibatch(
        planes=boards(n, 7, 7),
        legal=torch.ones(n, 50, dtype=torch.bool),
        policy=policy,
        opponent_policy=policy.flip(0),
        result=sign,
        root_value=torch.zeros(n),
        score=sign * 10,
        ownership=torch.ones(n, 49),
        board=torch.ones(n, 49),
        whole=True,
    )


def perfect(batch: Minibatch) -> Heads:
    far = torch.full((len(batch.result),), -30.0)
    target = (1 - WEIGHTS.root_share) * batch.result + WEIGHTS.root_share * batch.root_value
    return Heads(
        policy=batch.policy.clamp_min(1e-12).log(),
        opponent_policy=batch.opponent_policy.clamp_min(1e-12).log(),
        value=torch.atanh(target),
        score_mean=batch.score,
        score_spread=far,
        ownership=batch.ownership * 20,
    )


def test_the_losses_are_lowest_where_the_heads_are_right() -> None:
    batch = batch_of(8)
    heads = perfect(batch)
    best = dict(zip(PARTS, losses(heads, batch, WEIGHTS).tolist(), strict=True))
    assert best["policy_loss"] == pytest.approx(0, abs=1e-5)
    assert best["score_loss"] == pytest.approx(0, abs=1e-5)
    assert best["ownership_loss"] == pytest.approx(0, abs=1e-5)
    assert best["value_loss"] == pytest.approx(-(0.875 * math.log(0.875) + 0.125 * math.log(0.125)), abs=1e-5)
    parts = {"policy": 1, "opponent_policy": 2, "value": 3, "score_mean": 4, "score_spread": 4, "ownership": 5}
    for field, index in parts.items():
        worse = dataclasses.replace(heads, **{field: getattr(heads, field) * 0.5})
        assert losses(worse, batch, WEIGHTS)[index] > losses(heads, batch, WEIGHTS)[index] or field == "score_spread"


def test_the_sum_is_weighted() -> None:
    batch = batch_of(4)
    heads = net_of()(batch.planes, True)
    whole, policy, opponent, value, score, owner = losses(heads, batch, WEIGHTS).tolist()
    assert whole == pytest.approx(policy + 0.15 * opponent + value + 0.2 * score + 0.3 * owner, rel=1e-5)


def test_fast_searches_and_forbidden_moves_carry_no_policy() -> None:
    batch = batch_of(4)
    fast = batch.policy.clone()
    fast[1:] = 0
    batch = dataclasses.replace(batch, policy=fast)
    heads = perfect(batch_of(4))
    logits = heads.policy.clone()
    logits[1:] = 7.0
    assert float(losses(dataclasses.replace(heads, policy=logits), batch, WEIGHTS)[1]) == pytest.approx(0, abs=1e-5)
    legal = batch.legal.clone()
    legal[0, 3] = False
    forbidden = fast.clone()
    forbidden[0, 3] = 0
    forbidden[0] /= forbidden[0].sum()
    batch = dataclasses.replace(batch, legal=legal, policy=forbidden)
    assert float(losses(heads, batch, WEIGHTS)[1]) == pytest.approx(0, abs=1e-5)


def test_a_step_is_torchs_own_with_nesterov_momentum(make_manifest: object) -> None:
    manifest = make_manifest(warmup_steps=0, weight_decay_micro=0, gradient_clip_micro=0)  # type: ignore[operator]
    ours, theirs = net_of(), net_of()
    mine = Optimiser(ours, manifest.training)
    reference = torch.optim.SGD(theirs.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    batch = batch_of(8)
    for step in range(3):
        losses(ours(batch.planes, True), batch, WEIGHTS)[0].backward()
        mine.step(step)
        reference.zero_grad()
        losses(theirs(batch.planes, True), batch, WEIGHTS)[0].backward()
        reference.step()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_warm_up_clip_and_decay(make_manifest: object) -> None:
    manifest = make_manifest(  # type: ignore[operator]
        warmup_steps=9, weight_decay_micro=100_000, gradient_clip_micro=1_000, momentum_micro=0
    )
    net = net_of()
    optimiser = Optimiser(net, manifest.training)
    assert [round(optimiser.rate(step), 6) for step in (0, 4, 9, 500)] == [0.01, 0.05, 0.1, 0.1]
    before = [weight.detach().clone() for weight in net.parameters()]
    for weight in net.parameters():
        weight.grad = torch.ones_like(weight)
    norm = optimiser.step(9)
    assert norm == pytest.approx(math.sqrt(sum(weight.numel() for weight in before)), rel=1e-5)
    for name, old, new in zip(optimiser.names, before, net.parameters(), strict=True):
        kept = old * (0.99 if old.dim() > 1 else 1.0)
        assert torch.allclose(new, kept - 0.1 * 0.001 / norm, atol=1e-6), name


def test_the_average_follows_the_weights(make_manifest: object) -> None:
    net = net_of()
    optimiser = Optimiser(net, make_manifest(ema_micro=500_000).training)  # type: ignore[operator]
    start = optimiser.average[0].clone()
    for weight in net.parameters():
        weight.grad = torch.ones_like(weight)
    optimiser.step(100)
    assert torch.allclose(optimiser.average[0], (start + net.stem.weight) / 2)
