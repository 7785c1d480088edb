"""Games as positions to train on."""

import gzip
import struct
from pathlib import Path

import pytest

from native.rules import Colour, Rules
from node.exchange.errors import ReplayError, TrainingFileError
from node.exchange.leela_zero.files import read_positions
from node.exchange.leela_zero.games import block_positions, record_positions
from node.exchange.leela_zero.position import leela_point
from node.exchange.record import GameRecord, Move, Setup
from node.exchange.sgf_writer import encode_sgf
from node.exchange.values import parse_vertex
from protocol.game_block import BLACK_WINS, END_CAP, KIND_FAST, KIND_FULL, GameBlock, GameHeader
from tests.leelaz import ask, needs_leelaz
from trainer.network.leela_zero import LeelaZeroNet

CORNER_CAPTURE = ("B19", "A19", "A18", "Q4", "pass", "A19")


def record(*moves: str, result: str = "B+3.5", start: Setup | None = None) -> GameRecord:
    nodes = tuple(Move((Colour.BLACK, Colour.WHITE)[i % 2], parse_vertex(text, 19, 19)) for i, text in enumerate(moves))
    return GameRecord(19, 19, komi_half=15, rules="Chinese", result=result, nodes=nodes, start=start or Setup())


def test_positions_of_a_record() -> None:
    found = record_positions(record(*CORNER_CAPTURE[:5]))
    assert [position.to_move for position in found] == [Colour.BLACK, Colour.WHITE] * 2 + [Colour.BLACK]
    assert [position.is_won for position in found] == [True, False, True, False, True]
    chosen = [position.policy.index(1.0) for position in found]
    assert chosen == [leela_point(parse_vertex(text, 19, 19)) for text in CORNER_CAPTURE[:5]]
    last = found[-1].planes
    corner, right, below = (1 << (360 - leela_point(point)) for point in (0, 1, 19))
    assert last[:6] == (right | below, right | below, right, right, 0, 0), "black's, the newest board first"
    assert last[8:13] == (1 << (360 - leela_point(300)), 0, corner, 0, 0), "white's: A19 was taken"


def test_a_handicap_game() -> None:
    start = Setup(black=(60, 72))
    found = record_positions(
        GameRecord(19, 19, handicap=2, result="W+R", start=start, nodes=(Move(Colour.WHITE, 300),))
    )
    assert [position.to_move for position in found] == [Colour.WHITE]
    assert found[0].planes[8] == sum(1 << (360 - leela_point(point)) for point in (60, 72))
    assert found[0].is_won


def test_games_that_no_file_holds() -> None:
    twice = (Move(Colour.BLACK, 3), Move(Colour.BLACK, 4))
    for game, sentence in (
        (GameRecord(9, 9, result="B+1"), "The board is 9x9, and Leela Zero plays 19x19 only."),
        (record("A1", result="0"), "The result is 0: nobody won"),
        (record("A1", result=""), "The result is not known: nobody won"),
        (GameRecord(19, 19, result="B+", nodes=twice), "do not move in turn"),
        (GameRecord(19, 19, result="B+", nodes=(twice[0], Setup(black=(9,)))), "do not move in turn"),
    ):
        with pytest.raises(TrainingFileError, match=sentence):
            record_positions(game)
    with pytest.raises(ReplayError, match=r"Move 2 \(White A1\) is illegal"):
        record_positions(record("A1", "A1"))
    assert record_positions(record()) == []


def test_positions_of_a_runs_game() -> None:
    """Full searches alone, whose policy is the search's target."""
    head = GameHeader(0, 19, END_CAP, BLACK_WINS, opening_moves=1, komi_half=15, opening=0, score_half=1, moves=4)
    targets = [{19: 65535}, {}, {5: 16384, 361: 49151}]
    columns = [struct.pack("<4H", 3, 19, 4, 361), bytes((KIND_FULL, KIND_FAST, KIND_FULL)), bytes(3 * 362 * 2)]
    columns += [struct.pack("<362H", *(target.get(point, 0) for point in range(362))) for target in targets]
    block = GameBlock.parse(head.encode() + b"".join(columns) + bytes(3 * (4 + 4 + 32)))
    found = block_positions(block, Rules(19, 19, 15))
    assert [position.to_move for position in found] == [Colour.WHITE] * 2
    assert [position.is_won for position in found] == [False] * 2
    assert found[0].policy[leela_point(19)] == 1.0
    assert (found[1].policy[leela_point(5)], found[1].policy[361]) == (16384 / 65535, 49151 / 65535)
    assert found[1].planes[8] == sum(1 << (360 - leela_point(point)) for point in (3, 4))
    with pytest.raises(ReplayError, match="Move 4"):
        block_positions(GameBlock.parse(block.raw[:30] + struct.pack("<H", 3) + block.raw[32:]), Rules(19, 19, 15))


@needs_leelaz
def test_leelaz_makes_the_same_of_a_record(tmp_path: Path) -> None:
    weights = tmp_path / "weights.txt"
    weights.write_bytes(LeelaZeroNet.seeded(0, 4, 6).weights().encode())
    game = record(*CORNER_CAPTURE[:5], "D4", "C3", "T19", result="W+R")
    (tmp_path / "games.sgf").write_bytes(encode_sgf(game))
    ask(weights, [f"dump_supervised {tmp_path / 'games.sgf'} {tmp_path / 'dumped'}"])
    dumped = tmp_path / "dumped.0.gz"
    found = record_positions(game)
    assert list(read_positions(dumped)) == found
    assert "".join(position.encode() for position in found).encode() == gzip.decompress(dumped.read_bytes())
