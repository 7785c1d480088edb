"""Records as SGF: read back by a small reader of its own, move by move, and equal by ours."""

import re

import pytest

from native.game import Game
from native.rules import Colour, Rules
from node.exchange.errors import SgfError
from node.exchange.record import GameRecord, Move, Setup
from node.exchange.replay import game_record
from node.exchange.sgf_reader import parse_record
from node.exchange.sgf_writer import encode_sgf
from node.matches.opponent import RandomOpponent

TOKEN = re.compile(r"([A-Z]+)\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)


def read(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The root's properties and the moves of a game without variations."""
    assert text.startswith("(;")
    assert text.endswith(")\n")
    body = text[2:-2]
    root: dict[str, str] = {}
    moves: list[tuple[str, str]] = []
    at = 0
    nodes = 0
    while at < len(body):
        if body[at] == ";":
            nodes += 1
            at += 1
            continue
        match = TOKEN.match(body, at)
        assert match is not None, body[at : at + 20]
        value = re.sub(r"\\(.)", r"\1", match[2], flags=re.DOTALL)
        if nodes:
            assert match[1] in ("B", "W")
            moves.append((match[1], value))
        else:
            assert match[1] not in root
            root[match[1]] = value
        at = match.end()
    assert nodes == len(moves)
    return root, moves


def written(game: Game, black: str, white: str) -> str:
    return encode_sgf(game_record(game, black, white)).decode("utf-8")


def replayed(root: dict[str, str], moves: list[tuple[str, str]], rules: Rules) -> Game:
    game = Game(rules)
    for colour, value in moves:
        where = rules.points if not value else (ord(value[1]) - 97) * rules.cols + ord(value[0]) - 97
        game.play(where, Colour.BLACK if colour == "B" else Colour.WHITE)
    return game


@pytest.mark.parametrize(("rows", "cols", "komi_half"), [(7, 7, 17), (9, 9, -1), (19, 19, 14), (5, 8, 0), (2, 2, 0)])
def test_games_read_back(rows: int, cols: int, komi_half: int) -> None:
    for number in range(3):
        rules = Rules(rows, cols, komi_half, settled_end=True, move_cap=900)
        game = Game(rules)
        while not game.end:
            game.play(RandomOpponent().choose(game, bytes([number]) * 32))
        root, moves = read(written(game, "a", "b"))
        again = replayed(root, moves, rules)
        assert again.moves == game.moves
        assert again.stones() == game.stones()
        assert root["SZ"] == (str(cols) if rows == cols else f"{cols}:{rows}")
        assert float(root["KM"]) == komi_half / 2
        assert (root["FF"], root["GM"], root["CA"]) == ("4", "1", "UTF-8")


@pytest.mark.parametrize(("komi_half", "result"), [(0, "B+9"), (17, "B+0.5"), (18, "0"), (19, "W+0.5"), (-3, "B+10.5")])
def test_results(komi_half: int, result: str) -> None:
    game = Game(Rules(3, 3, komi_half))
    for move in (4, 9, 9):
        game.play(move)
    root, moves = read(written(game, "a", "b"))
    assert root["RE"] == result
    assert moves == [("B", "bb"), ("W", ""), ("B", "")]


def test_names_are_escaped() -> None:
    black, white = "a]b\\c", "gtp:'x' [9k]"
    root, _ = read(written(Game(Rules(3, 3, 0)), black, white))
    assert (root["PB"], root["PW"]) == (black, white)


def test_a_whole_record_as_text() -> None:
    record = GameRecord(
        5,
        9,
        komi_half=-1,
        handicap=2,
        rules="Tromp-Taylor",
        black="棋 [9k]",
        white="a:b",
        result="B+R",
        start=Setup(black=(0, 8), white=(44,), to_move=Colour.WHITE, comment="one\ntwo\\"),
        nodes=(
            Move(Colour.WHITE, 22, "C[x]"),
            Setup(empty=(0,), black=(1,)),
            Move(Colour.BLACK, 45),
            Setup(comment="end"),
        ),
    )
    assert encode_sgf(record).decode("utf-8") == (
        "(;FF[4]GM[1]CA[UTF-8]AP[gonode]SZ[9:5]KM[-0.5]HA[2]RU[Tromp-Taylor]RE[B+R]PB[棋 [9k\\]]PW[a:b]"
        "AB[aa][ia]AW[ie]PL[W]C[one\ntwo\\\\];W[ec]C[C[x\\]];AB[ba]AE[aa];B[];C[end])\n"
    )


@pytest.mark.parametrize("komi_half", [2 * 375, 2 * 650, 2 * 750, 2 * 275])
def test_own_komi_is_never_taken_for_that_of_fox(komi_half: int) -> None:
    record = GameRecord(9, 9, komi_half=komi_half)
    assert parse_record(encode_sgf(record)) == record


def test_a_record_too_large_to_be_read_is_not_written() -> None:
    record = GameRecord(9, 9, nodes=tuple(Move(Colour.BLACK, 0, f"{n}{'x' * 240_000}") for n in range(42)))
    with pytest.raises(SgfError, match="would take 100"):
        encode_sgf(record)
