"""`gonode train --from-leela-zero`: from training files to weights that leelaz loads, and what it refuses."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.leela_zero.files import pack_file
from node.exchange.leela_zero.games import game_positions
from tests.leelaz import heats, needs_leelaz
from tests.node.cli.gonode import gonode, the_object

pytest.importorskip("torch")

SMALL = ("--network", "b1c16", "--set", "training.minibatch=16", "--set", "training.warmup_steps=5")


def write_games(folder: Path, games: int, moves: int, seed: int) -> None:
    """Beginnings of random games, each won by whoever it says; the policy is the move."""
    folder.mkdir()
    for number in range(games):
        draw, game = random.Random(seed + number), Game(Rules(19, 19, 15))
        chosen: list[int] = []
        for _ in range(moves):
            chosen.append(draw.choice([point for point, is_legal in enumerate(game.legal()[:-1]) if is_legal]))
            game.play(chosen[-1])
        winner = draw.choice((Colour.BLACK, Colour.WHITE))
        positions = game_positions(Game(Rules(19, 19, 15)), chosen, [{move: 1.0} for move in chosen], winner)
        (folder / f"games.{number}.gz").write_bytes(pack_file(positions))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leela") / "data"
    write_games(folder, games=3, moves=40, seed=5)
    return folder


def test_the_same_command_goes_on(data: Path, tmp_path: Path) -> None:
    """Ctrl-C saves; then the bytes are those of a training that nothing stopped."""
    words = ["train", "--from-leela-zero", str(data), *SMALL, "--steps", "200", "--json", "--out"]
    straight = the_object(gonode(*words, tmp_path / "straight"))
    assert [straight[key] for key in ("shape", "steps", "samples", "positions")] == ["b1c16", 200, 3200, 120]
    assert set(straight["losses"]) == {"loss", "policy_loss", "value_loss"}

    out = tmp_path / "stopped"
    with subprocess.Popen(
        [sys.executable, "-m", "node", *words, str(out)], stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 120
        while not (out / "metrics.jsonl").exists() or (out / "metrics.jsonl").read_bytes().count(b"\n") < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert not (out / "result.json").exists()
    found = the_object(gonode(*words, out))
    assert found["losses"] == straight["losses"]
    assert Path(found["weights"]).read_bytes() == Path(straight["weights"]).read_bytes()
    other = gonode("train", "--from-leela-zero", data, "--steps", 201, "--out", out).refusal()
    assert "another training is here (--set was another)" in other


@needs_leelaz
def test_leelaz_loads_the_weights(data: Path, tmp_path: Path) -> None:
    words = (*SMALL, "--steps", 5, "--set", "training.held_out=0.2", "--out", tmp_path / "out")
    answer = gonode("train", "--from-leela-zero", data, *words)
    assert (answer.status, answer.out.count("\n")) == (0, 1)
    weights = tmp_path / "out" / "weights.txt.gz"
    assert answer.out.startswith(
        f"{weights}: Leela Zero's weights of b1c16, 5 steps, 80 samples of 120 positions; held-out"
    )
    (heat,) = heats(weights, [["b D4", "w Q16"]])
    assert 0.0 < heat.win_rate < 1.0


def test_what_it_refuses(data: Path, tmp_path: Path) -> None:
    def refusal(*words: object, folder: Path = data) -> str:
        return gonode("train", "--from-leela-zero", folder, "--out", tmp_path / "out", *words).refusal()

    assert "neither --data nor --processes" in refusal("--data", tmp_path)
    assert "neither --data nor --processes" in refusal("--processes", 2)
    assert "takes one process" in refusal("--set", "training.processes=2")
    assert "There is no key training.lr here" in refusal("--set", "training.lr=1")
    assert "No such file" in refusal(folder=tmp_path / "none")
    (tmp_path / "empty").mkdir()
    assert "no training file is here" in refusal(folder=tmp_path / "empty")
    (tmp_path / "empty" / "games").touch()
    assert "hold no position" in refusal(folder=tmp_path / "empty")
    (tmp_path / "empty" / "games").write_bytes(b"Hello\n" * 19)
    assert "games: position 1: Line 1 is not 90" in refusal(folder=tmp_path / "empty")
    assert "Say what to train on" in gonode("train").refusal()
