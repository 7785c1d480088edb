"""Leela Zero's training files, our own and those of `leelaz`."""

import gzip
from pathlib import Path

import pytest

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.errors import TrainingFileError
from node.exchange.leela_zero.files import pack_file, read_positions, training_files
from node.exchange.leela_zero.games import game_positions
from node.exchange.leela_zero.planes import board_planes, input_planes
from node.exchange.leela_zero.position import TrainingPosition, leela_point
from node.exchange.values import parse_vertex
from tests.leelaz import ask, needs_leelaz
from trainer.network.leela_zero import LeelaZeroNet

MOVES = (60, 300, 361, 72, 288, 61, 43, 7, 59, 8, 19)


def some() -> list[TrainingPosition]:
    return game_positions(Game(Rules(19, 19, 15)), MOVES, [{move: 1.0} for move in MOVES], Colour.WHITE)


def refusal(path: Path) -> str:
    with pytest.raises(TrainingFileError) as caught:
        list(read_positions(path))
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def test_plain_and_compressed(tmp_path: Path) -> None:
    positions = some()
    (tmp_path / "packed.gz").write_bytes(pack_file(positions))
    (tmp_path / "plain").write_bytes(gzip.decompress(pack_file(positions)))
    (tmp_path / "empty").write_bytes(b"")
    assert list(read_positions(tmp_path / "packed.gz")) == positions
    assert list(read_positions(tmp_path / "plain")) == positions
    assert list(read_positions(tmp_path / "empty")) == []
    assert [path.name for path in training_files(tmp_path)] == ["empty", "packed.gz", "plain"]


def test_faults_name_file_and_position(tmp_path: Path) -> None:
    text = "".join(position.encode() for position in some()).encode()
    path = tmp_path / "games"
    path.write_bytes(text[:-3])
    assert refusal(path) == "position 11: A position has 19 lines, not 18."
    path.write_bytes(b"\xff" + text[1:])
    assert refusal(path) == "position 1: It has bytes that are no text."
    path.write_bytes(b"0" * 10_000_000)
    assert refusal(path).startswith("position 1: Line 1 is not 90")
    path.write_bytes(gzip.compress(text)[:-20])
    assert refusal(path) == "The file is damaged: it cannot be unpacked to its end."
    path.unlink()
    with pytest.raises(TrainingFileError, match="no training file is here"):
        training_files(tmp_path)


@needs_leelaz
def test_what_leelaz_dumps_is_its_game(tmp_path: Path) -> None:
    weights = tmp_path / "weights.txt"
    weights.write_bytes(LeelaZeroNet.seeded(1, 8, 6).weights().encode())
    plies = 24
    commands = [f"genmove {'bw'[ply % 2]}" for ply in range(plies)]
    answers, _ = ask(
        weights, [*commands, f"dump_training b {tmp_path / 'dumped'}"], "-v", "12", "-n", "-r", "0", "-s", "1"
    )
    moves = [parse_vertex(line[2:], 19, 19) for line in answers.splitlines() if len(line) > 2][:plies]
    path = tmp_path / "dumped.0.gz"
    found = list(read_positions(path))
    assert len(found) == plies

    game = Game(Rules(19, 19, 15))
    boards = [board_planes(game.stones())]
    for position, move in zip(found, moves, strict=True):
        assert position.to_move == game.to_move
        assert position.planes == input_planes(boards, game.to_move)
        assert (
            position.policy[leela_point(move)] > 0
        )  # it was visited, though leelaz need not play the most visited one
        assert position.is_won == (game.to_move == Colour.BLACK)
        game.play(move)
        boards.append(board_planes(game.stones()))
    assert "".join(position.encode() for position in found).encode() == gzip.decompress(path.read_bytes())
