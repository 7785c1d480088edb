"""KataGo's own Python as the judge, where the environment's KATAGO names a checkout of it: its loader and its inputs."""

import os
import sys
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from native.game import Game
from native.rules import Rules
from node.exchange.katago.canvas import Canvas
from node.exchange.katago.inputs import Replay, input_globals, input_planes
from node.exchange.katago.rows import encode_rows, game_rows
from tests.node.exchange.katago.test_rows import NAME, games

SIDE = 9


@pytest.fixture(scope="module")
def katago() -> SimpleNamespace:
    """Its modules for boards, inputs, files and networks."""
    folder = os.environ.get("KATAGO")
    if not folder:
        pytest.skip("no KATAGO names a checkout of KataGo, which these tests ask")
    sys.path.insert(0, str(Path(folder) / "python"))
    from katago.game import board, features  # type: ignore[import-not-found,unused-ignore]
    from katago.train import data_processing_pytorch, modelconfigs  # type: ignore[import-not-found,unused-ignore]

    modules: dict[str, ModuleType] = {"board": board, "features": features, "data": data_processing_pytorch}
    return SimpleNamespace(**modules, config=modelconfigs.config_of_name["b6c96"])


def test_its_loader_reads_our_files(katago: SimpleNamespace, tmp_path: Path) -> None:
    rows = [row for rules, block in games()[:6] for row in game_rows(rules, block, NAME, SIDE)]
    (tmp_path / "rows0.npz").write_bytes(encode_rows(rows, SIDE))
    batches = list(
        katago.data.read_npz_training_data(
            [str(tmp_path / "rows0.npz")], 4, 1, 0, SIDE, "cpu", True, False, katago.config
        )
    )
    assert len(batches) == len(rows) // 4
    for batch in batches:
        assert batch["binaryInputNCHW"].shape == (4, 22, SIDE, SIDE)
        assert batch["globalTargetsNC"].shape == (4, 80)
        assert batch["scoreDistrN"].sum(1).tolist() == [100.0] * 4
        assert (batch["policyTargetsNCMove"].sum(2) > 0).all()
        assert (batch["valueTargetsNCHW"][:, 0].abs() <= batch["binaryInputNCHW"][:, 0]).all()


@pytest.mark.parametrize("seed", range(3))
def test_our_inputs_are_its_inputs(katago: SimpleNamespace, seed: int) -> None:
    """Of random games; superko, which its Python leaves out, apart."""
    rules = Rules(SIDE, SIDE, komi_half=(15, 14, 13)[seed])
    game, rng = Game(rules), Random(seed)
    while game.num_moves < 90 and not game.end:
        legal = [move for move, is_legal in enumerate(game.legal()) if is_legal]
        game.play(rng.choice([move for move in legal if move < rules.points] or legal))
    moves = [move for _, move in game.moves]
    theirs = their_inputs(katago, rules, moves)
    replay, canvas = Replay(rules, moves), Canvas(SIDE, SIDE)
    ladders = 0
    for ply in range(len(moves)):
        packed = np.frombuffer(input_planes(replay, ply, canvas), np.uint8).reshape(22, -1)
        planes = np.unpackbits(packed, axis=1)[:, : SIDE * SIDE]
        expected, numbers = theirs[ply]
        assert (planes[6] >= expected[6]).all()
        planes[6] = expected[6]
        differing = np.unique(np.nonzero(planes != expected)[0]).tolist()
        assert not differing, (ply, differing)
        assert np.frombuffer(input_globals(replay, ply), np.float32) == pytest.approx(numbers, abs=1e-6)
        ladders += int(expected[14:18].sum())
    assert ladders > 100


def their_inputs(katago: SimpleNamespace, rules: Rules, moves: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Planes and numbers before each move, by its `Features`."""
    kind = katago.board.Board
    features = katago.features.Features(katago.config, SIDE)
    board, boards, played = kind(size=SIDE), [], []
    said = {
        "scoringRule": "SCORING_AREA",
        "taxRule": "TAX_NONE",
        "multiStoneSuicideLegal": rules.suicide,
        "encorePhase": 0,
        "koRule": "KO_POSITIONAL",
        "whiteKomi": rules.komi_half / 2,
        "asymPowersOfTwo": 0,
    }
    is_legal, has_captures = kind.would_be_legal, kind.hasLibertyGainingCaptures

    def is_legal_in_ladder(self: Any, colour: int, loc: int) -> bool:
        """As in its C++, where ladders have no suicide of several stones; its Python plays that."""
        return bool(is_legal(self, colour, loc)) and not self.would_be_suicide(colour, loc)

    def has_none(self: Any, loc: int) -> bool:
        """As its C++ asks, where its Python, whose only use of it this is, forgot a `not`."""
        return not has_captures(self, loc)

    found = []
    for ply, move in enumerate(moves):
        mover, other = (kind.WHITE, kind.BLACK) if ply % 2 else (kind.BLACK, kind.WHITE)
        boards.append(board.copy())
        planes, numbers = np.zeros((1, SIDE * SIDE, 22), np.float32), np.zeros((1, 19), np.float32)
        said["passWouldEndPhase"] = bool(played) and played[-1][1] == kind.PASS_LOC
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(kind, "would_be_legal", is_legal_in_ladder)
            patched.setattr(kind, "hasLibertyGainingCaptures", has_none)
            features.fill_row_features(board, mover, other, boards, played, ply, said, planes, numbers, 0)
        found.append((planes[0].T.astype(np.uint8), numbers[0]))
        loc = kind.PASS_LOC if move == SIDE * SIDE else board.loc(move % SIDE, move // SIDE)
        board.play(mover, loc)
        played.append((mover, loc))
    return found
