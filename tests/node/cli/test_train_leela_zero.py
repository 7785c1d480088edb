"""`gonode train --from-leela-zero`: from training files to weights that leelaz loads, and what it refuses."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from native.game import Game
from native.rules import Colour, Ko, Rules
from node.exchange.leela_zero.files import pack_file
from node.exchange.leela_zero.games import game_positions
from node.exchange.leela_zero.position import TrainingPosition
from node.exchange.values import parse_vertex
from tests.leelaz import Player, heats, needs_leelaz
from tests.node.cli.gonode import gonode, the_object

pytest.importorskip("torch")

RULES = Rules(19, 19, 15, Ko.POSITIONAL, False)
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
    """Trained on random games that are played out, it knows at least who has more of the board."""
    (tmp_path / "data").mkdir()
    for number in range(200):
        positions = _played_out(random.Random(number))
        (tmp_path / "data" / f"{number}.gz").write_bytes(pack_file(positions))
    network = ("--network", "b2c32", "--set", "training.minibatch=64", "--set", "training.warmup_steps=20")
    trained = the_object(
        gonode(
            "train", "--from-leela-zero", tmp_path / "data", *network, "--steps", 500, "--out", tmp_path / "t", "--json"
        )
    )
    untrained = the_object(
        gonode(
            "train",
            "--from-leela-zero",
            tmp_path / "data",
            *network,
            "--steps",
            1,
            "--out",
            tmp_path / "u",
            "--json",
            "--set",
            "training.learning_rate=0.0",
        )
    )
    assert trained["held_out_losses"]["value_loss"] < 0.6 < untrained["held_out_losses"]["value_loss"]
    players = (Path(trained["weights"]), Path(untrained["weights"]))
    wins = sum(_is_won(*players, Colour.BLACK if number % 2 == 0 else Colour.WHITE, number) for number in range(6))
    assert wins == 6


def _played_out(draw: random.Random) -> list[TrainingPosition]:
    """A game of random moves that fill no own eye; each third position, and the result as it is."""
    game = Game(RULES)
    chosen: list[int] = []
    while not game.end and len(chosen) < 500:
        own, stones = game.to_move, game.stones()
        legal = [p for p, is_legal in enumerate(game.legal()[:-1]) if is_legal and not _is_eye(stones, p, own)]
        chosen.append(draw.choice(legal) if legal else 361)
        game.play(chosen[-1])
    winner = Colour.BLACK if game.score_half() > 0 else Colour.WHITE
    policies = [{move: 1.0} if ply % 3 == 0 else None for ply, move in enumerate(chosen)]
    return game_positions(Game(RULES), chosen, policies, winner)


def _is_eye(stones: bytes, point: int, own: Colour) -> bool:
    row, col = divmod(point, 19)
    beside = ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
    return all(stones[r * 19 + c] == own for r, c in beside if 0 <= r < 19 and 0 <= c < 19)


def _is_won(ours: Path, theirs: Path, colour: Colour, seed: int) -> bool:
    """Whether `ours` wins a game as `colour`: all stones on the board count, after two passes or 500 moves."""
    options = ("-v", "30", "-r", "0", "-s", str(seed + 1), "-m", "10")
    players = {colour: Player(ours, *options), colour.other: Player(theirs, *options)}
    game = Game(RULES)
    try:
        while not game.end and game.num_moves < 500:
            side = game.to_move
            word = players[side].ask(f"genmove {side.name.lower()}")
            if word == "resign":
                return side != colour
            players[side.other].ask(f"play {side.name.lower()} {word}")
            game.play(parse_vertex(word, 19, 19))
    finally:
        for player in players.values():
            player.close()
    return (game.score_half() > 0) == (colour == Colour.BLACK)
