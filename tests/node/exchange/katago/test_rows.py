"""Rows as numpy reads them: inputs are the positions', targets the games', in the layout of KataGo's trainer."""

import io
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.katago.rows import Row, encode_rows, game_rows
from protocol.batch import unpack_batch
from protocol.game_block import DRAW, KIND_FULL, SCORE_ONE, VALUE_ONE, WHITE_WINS, GameBlock
from tests.node.homes import grown_world
from verification.setup import game_rules

POS_LEN = 9
NAME = bytes(range(100, 132))


@cache
def games() -> list[tuple[Rules, GameBlock]]:
    """The first games of a run that have full searches."""
    world = grown_world()
    found = []
    for batch in world.state.batches.released:
        for block in unpack_batch(world.blobs[batch.header.blob_digest], batch.header.raw_len).games:
            rules = game_rules(world.manifest.rules, block.header.size, block.header.komi_half)
            found += [(rules, block)] * (KIND_FULL in block.kinds)
    return found


def arrays(rows: list[Row]) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(encode_rows(rows, POS_LEN)), allow_pickle=False) as npz:
        return dict(npz)


@pytest.mark.parametrize("number", range(3))
def test_rows_of_a_game(number: int) -> None:
    rules, block = games()[number]
    found = arrays(list(game_rows(rules, block, NAME, POS_LEN)))
    full = [ply for ply in block.plies if block.kinds[ply - block.header.opening_moves] == KIND_FULL]
    n, size, points = len(full), rules.rows, POS_LEN * POS_LEN
    assert {name: (array.shape, array.dtype) for name, array in found.items()} == {
        "binaryInputNCHWPacked": ((n, 22, (points + 7) // 8), np.uint8),
        "globalInputNC": ((n, 19), np.float32),
        "policyTargetsNCMove": ((n, 2, points + 1), np.int16),
        "globalTargetsNC": ((n, 64), np.float32),
        "scoreDistrN": ((n, 2 * (points + 60)), np.int8),
        "valueTargetsNCHW": ((n, 5, POS_LEN, POS_LEN), np.int8),
    }
    planes = np.unpackbits(found["binaryInputNCHWPacked"], axis=2)[:, :, :points].reshape(n, 22, POS_LEN, POS_LEN)
    assert not planes[:, :, size:].any()
    assert not planes[:, :, :, size:].any()
    planes = planes[:, :, :size, :size]
    game, boards = Game(rules), []
    for row, ply in enumerate(block.moves):
        del row
        boards.append((game.copy(), ply))
        game.play(ply)
    for row, ply in enumerate(full):
        require_inputs(rules, boards[ply][0], block, ply, planes[row], found["globalInputNC"][row])
        require_targets(block, game, ply, {name: array[row] for name, array in found.items()})


def require_inputs(
    rules: Rules, game: Game, block: GameBlock, ply: int, planes: np.ndarray, numbers: np.ndarray
) -> None:
    features = np.frombuffer(game.features(), np.uint8).reshape(20, rules.rows, rules.cols) > 0
    assert planes[0].all()
    assert (planes[1:3] == features[1:3]).all()
    assert (planes[3:6] == features[3:6] | features[6:9]).all()
    assert (planes[6] == features[9]).all()
    assert (planes[9:14] == features[10:15]).all()
    assert (planes[14] <= planes[1] | planes[2]).all()
    assert (planes[17] <= ~(planes[1] | planes[2]) & 1).all()
    assert not planes[[7, 8, 20, 21]].any()
    assert not (planes[18] & planes[19]).any()
    assert (planes[18] >= features[15]).all()
    passes = [float(move == rules.points) for move in reversed(block.moves[:ply])][:5]
    assert numbers[:5].tolist() == passes + [0.0] * (5 - len(passes))
    own = 1 if game.to_move == Colour.WHITE else -1
    assert numbers[5] == pytest.approx(own * rules.komi_half / 40)
    assert numbers[6:9].tolist() == [1.0, 0.5, float(rules.suicide)]
    assert numbers[14] == numbers[0]


def require_targets(block: GameBlock, end: Game, ply: int, row: dict[str, np.ndarray]) -> None:
    header, size, targets = block.header, block.header.size, row["globalTargetsNC"]
    sign = -1 if ply % 2 else 1
    number = ply - header.opening_moves
    shares = np.array(block.policy_target(ply)) / 65535
    policy = row["policyTargetsNCMove"][0] / row["policyTargetsNCMove"][0].sum()
    on_board = policy[:-1].reshape(POS_LEN, POS_LEN)[:size, :size]
    assert np.append(on_board.ravel(), policy[-1]) == pytest.approx(shares, abs=1e-3)
    assert ((row["policyTargetsNCMove"][0] > 0).sum()) == (shares > 0).sum()
    assert row["policyTargetsNCMove"][1].sum() > 0
    is_followed = number + 1 < header.plies and block.kinds[number + 1] == KIND_FULL
    assert targets[[25, 26, 27, 28, 29, 33, 34, 35, 24]].tolist() == [1, 1, 1, is_followed, 0, 1, 1, 0, 0]
    require_values(block, ply, sign, targets)
    assert targets[20] == targets[3] == sign * header.score_half / 2
    assert targets[47] == -sign * header.komi_half / 2
    assert (targets[51], targets[60], targets[63]) == (ply, sum(block.visits(ply)) + 1, 2)
    parts = [int(part) for part in targets[41:47]]
    shifts = (0, 22, 44, 64, 86, 108)
    assert sum(part << shift for part, shift in zip(parts, shifts, strict=True)).to_bytes(16, "little") == NAME[:16]
    scores = row["scoreDistrN"]
    middle = np.arange(len(scores)) - len(scores) // 2 + 0.5
    assert scores.sum() == 100
    assert (scores * middle).sum() / 100 == sign * header.score_half / 2
    by_point = row["valueTargetsNCHW"].astype(int)
    owner = np.array([(0, 1, -1)[colour] for colour in end.owner()]).reshape(size, size)
    assert (by_point[0, :size, :size] == sign * owner).all()
    assert (by_point[4] == 120 * by_point[0]).all()
    assert not by_point[1].any()
    later = np.array([(0, 1, -1)[colour] for colour in end.stones()]).reshape(size, size)
    if ply + 32 >= header.moves:
        assert (by_point[3, :size, :size] == sign * later).all()


def require_values(block: GameBlock, ply: int, sign: int, targets: np.ndarray) -> None:
    """Value targets by the sum that KataGo's writer forms."""
    header = block.header
    final = 0 if header.result == DRAW else -1 if header.result == WHITE_WINS else 1
    leads = [(-1 if each % 2 else 1) * block.value(each) / VALUE_ONE for each in block.plies if each >= ply] + [final]
    scores = [(-1 if each % 2 else 1) * block.score(each) / SCORE_ONE for each in block.plies if each >= ply]
    scores.append(header.score_half / 2)
    area = header.size**2
    factors = (0.0, 1 / (1 + area * 0.176), 1 / (1 + area * 0.056), 1 / (1 + area * 0.016), 1.0)
    for start, factor in zip(range(0, 20, 4), factors, strict=True):
        left, lead, score = 1.0, 0.0, 0.0
        for place, (one, other) in enumerate(zip(leads, scores, strict=True)):
            weight = left if place == len(leads) - 1 else left * factor
            left -= weight
            lead, score = lead + weight * one, score + weight * other
        expected = [(1 + sign * lead) / 2, (1 - sign * lead) / 2, 0, sign * score]
        assert targets[start : start + 4].tolist() == pytest.approx(expected, abs=1e-4)
    changes = [(after - before) ** 2 for before, after in pairwise(leads)]
    assert targets[22] == pytest.approx(sum(turns * change for turns, change in enumerate(changes, 1)), abs=1e-4)
