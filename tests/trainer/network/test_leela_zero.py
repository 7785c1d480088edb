"""Leela Zero's network: what it computes is what `leelaz` computes with the same file."""

import gzip
import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from native.game import Game
from native.rules import Rules
from node.exchange.leela_zero.planes import board_planes, input_planes
from node.exchange.leela_zero.position import POINTS, leela_point
from node.exchange.values import vertex
from tests.leelaz import heats, needs_leelaz
from trainer.network.leela_zero import LeelaZeroHeads, LeelaZeroNet, NormedConv
from trainer.network.leela_zero_weights import LeelaZeroWeights


def net_of(seed: int, blocks: int = 2, channels: int = 16) -> LeelaZeroNet:
    """A network as training may leave it: no bias, beta, mean or variance is where it began."""
    net = LeelaZeroNet.seeded(blocks, channels, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, tensor in (*net.named_parameters(), *net.named_buffers()):
            if name.endswith("variance"):
                tensor.uniform_(0.5, 2.0, generator=generator)
            elif tensor.dim() == 1:
                tensor.normal_(0.0, 0.3, generator=generator)
        net.value_conv.beta.fill_(1.0)  # or its one map may be 0 everywhere
        net.policy.weight.normal_(0.0, 0.05, generator=generator)
        net.value.weight.mul_(0.3)  # or all positions may be won
    return net.eval()


def random_game(seed: int, length: int) -> tuple[list[str], torch.Tensor]:
    """Random legal moves, now and then a pass, as GTP has them, and the planes of the position after them."""
    draw = random.Random(seed)
    game = Game(Rules(19, 19, 15))
    moves, boards = [], [board_planes(game.stones())]
    for _ in range(length):
        legal = [point for point, is_legal in enumerate(game.legal()[:-1]) if is_legal]
        point = POINTS if draw.random() < 0.05 and (not moves or "pass" not in moves[-1]) else draw.choice(legal)
        moves.append(f"{'b' if len(moves) % 2 == 0 else 'w'} {vertex(point, 19, 19)}")
        game.play(point)
        boards.append(board_planes(game.stones()))
    bits = "".join(f"{plane:0361b}" for plane in input_planes(boards, game.to_move))
    planes = torch.zeros(18, 19, 19)
    planes[:16] = torch.tensor([int(bit) for bit in bits]).reshape(16, 19, 19)
    planes[16 + length % 2] = 1
    return moves, planes


def agree(weights: Path, net: LeelaZeroNet, positions: int, seed: int) -> None:
    games = [random_game(seed + i, length=i * 7 % 240) for i in range(positions)]
    with torch.no_grad():
        found = [net(planes[None]) for _, planes in games]
    heads = LeelaZeroHeads(torch.cat([each.policy for each in found]), torch.cat([each.value for each in found]))
    policy = heads.policy.double().softmax(1).numpy()[:, [leela_point(point) for point in range(POINTS + 1)]]
    printed = heats(weights, [moves for moves, _ in games])
    assert np.std([heat.win_rate for heat in printed]) > 0.001, "the positions differ"
    for i, heat in enumerate(printed):
        assert float(heads.win_rate[i]) == pytest.approx(heat.win_rate, abs=1e-6)
        own = 1000 * policy[i]
        stones = games[i][1][:16:8].sum(0).flip(0).flatten().bool().tolist()
        for point, thousandths in enumerate(heat.policy):
            if point < POINTS and stones[point]:
                assert thousandths == 0
            else:
                assert thousandths in {math.floor(own[point] - 0.002), math.floor(own[point] + 0.002)}


@needs_leelaz
@pytest.mark.parametrize(("blocks", "channels", "name"), [(2, 16, "w.txt"), (1, 24, "w.gz")])
def test_leelaz_computes_the_same(blocks: int, channels: int, name: str, tmp_path: Path) -> None:
    net = net_of(11 + blocks, blocks, channels)
    data = net.weights().encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    agree(tmp_path / name, net, 5, seed=blocks)
    again = LeelaZeroNet.of(LeelaZeroWeights.parse((tmp_path / name).read_bytes()))
    agree(tmp_path / name, again, 2, seed=50)


@needs_leelaz
def test_leelaz_computes_the_same_of_two_hundred_positions(tmp_path: Path) -> None:
    net = net_of(77, 4, 32)
    (tmp_path / "weights.txt").write_bytes(net.weights().encode())
    agree(tmp_path / "weights.txt", net, 200, seed=1000)


def test_of_and_weights() -> None:
    net = net_of(3)
    again = LeelaZeroNet.of(net.weights())
    for one, two in zip(net.state_dict().items(), again.state_dict().items(), strict=True):
        assert one[0] == two[0]
        torch.testing.assert_close(one[1], two[1], rtol=1e-6, atol=0)
    planes = torch.rand(3, 18, 19, 19).round()
    torch.testing.assert_close(again(planes).policy, net(planes).policy)


def test_training_moves_the_averages() -> None:
    """Norms of a network in training use the minibatch; afterwards, what they kept."""
    net = net_of(5, 1, 8).train()
    planes = torch.rand(16, 18, 19, 19, generator=torch.Generator().manual_seed(1)).round()
    for _ in range(200):
        trained = net(planes)
    torch.testing.assert_close(net.eval()(planes).policy, trained.policy, rtol=0.01, atol=0.01)


def test_a_drawn_network_finds_all_moves_alike() -> None:
    """And its value is noise already: from a value that is 0 everywhere, one map may die before it says anything."""
    net = LeelaZeroNet.seeded(1, 8, 5)
    heads = net(torch.rand(4, 18, 19, 19, generator=torch.Generator().manual_seed(1)).round())
    assert not heads.policy.any()
    assert heads.value.all()
    assert all(module.weight.any() for module in net.modules() if isinstance(module, NormedConv))
