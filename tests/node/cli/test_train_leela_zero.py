"""`gonode train --from-leela-zero`: from training files to weights that leelaz loads, and what it refuses."""

import math
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
from node.exchange.values import parse_vertex
from tests.attacker import RULES, taught_game
from tests.leelaz import Player, heats, needs_leelaz
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


@needs_leelaz
@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_a_trained_network_beats_a_random_one_in_leelaz(tmp_path: Path) -> None:
    """Some hundred steps on games of a simple teacher; by luck, it would win 18 of 20 once in 5000 times."""
    (tmp_path / "data").mkdir()
    for number in range(100):
        (tmp_path / "data" / f"{number}.gz").write_bytes(pack_file(taught_game(number)))
    settings = ("minibatch=64", "learning_rate=0.1", "warmup_steps=20", "ema=0.99", "held_out=0.05")
    settings_words = [word for setting in settings for word in ("--set", f"training.{setting}")]
    words = ("train", "--from-leela-zero", tmp_path / "data", "--network", "b1c16", *settings_words, "--json")
    trained = the_object(gonode(*words, "--steps", 400, "--out", tmp_path / "trained"))
    untrained = the_object(
        gonode(*words, "--set", "training.learning_rate=0.0", "--steps", 1, "--out", tmp_path / "untrained")
    )
    assert untrained["losses"]["policy_loss"] == pytest.approx(math.log(362), abs=1e-4)
    assert trained["held_out_losses"]["policy_loss"] < 3.0
    players = (Path(trained["weights"]), Path(untrained["weights"]))
    wins = sum(_is_won(*players, Colour.BLACK if number % 2 == 0 else Colour.WHITE, number) for number in range(20))
    assert wins >= 18


def _is_won(ours: Path, theirs: Path, colour: Colour, seed: int) -> bool:
    """Whether `ours` wins a game as `colour`: all stones on the board count, after two passes or 500 moves."""
    options = ("-v", "20", "-r", "0", "-s", str(seed + 1), "-m", "10")
    players = {colour: Player(ours, *options), colour.other: Player(theirs, *options)}
    game = Game(RULES)
    try:
        while not game.end and game.num_moves < 500:
            side = game.to_move
            word = players[side].ask(f"genmove {side.name.lower()}")
            players[side.other].ask(f"play {side.name.lower()} {word}")
            game.play(parse_vertex(word, 19, 19))
    finally:
        for player in players.values():
            player.close()
    return (game.score_half() > 0) == (colour == Colour.BLACK)
