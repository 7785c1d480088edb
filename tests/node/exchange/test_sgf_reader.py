"""Reading SGF: round trips, lines of a game, what is refused and in which words, limits in time and memory."""

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings

from native.rules import Colour
from node.exchange.errors import SgfError
from node.exchange.record import GameRecord, Move, Setup
from node.exchange.sgf_reader import parse_collection, parse_record
from node.exchange.sgf_writer import encode_sgf
from tests.node.exchange.sgf_records import records


@settings(max_examples=100, deadline=None)
@given(records())
def test_every_record_reads_back(record: GameRecord) -> None:
    assert parse_record(encode_sgf(record)) == record


def test_lines_are_numbered_depth_first() -> None:
    (game,) = parse_collection(b"(;SZ[9](;B[aa](;W[bb])(;W[cc](;B[dd])(;B[ee])))(;B[ff]))")
    lines = [[move.point for move in game.record(number).moves] for number in range(game.variations)]
    assert lines == [[0, 10], [0, 20, 30], [0, 20, 40], [50]]
    with pytest.raises(SgfError, match="has 4 variations"):
        game.record(4)


def test_games_are_read_one_by_one() -> None:
    games = parse_collection(b"(;SZ[9];B[aa]) text (;SZ[99])")
    assert games[0].record().moves == (Move(Colour.BLACK, 0),)
    with pytest.raises(SgfError, match="size '99'"):
        games[1].record()


def test_what_is_absent_is_none() -> None:
    assert parse_record(b"(;)") == GameRecord(19, 19)
    assert parse_record(b"(;KM[]HA[ ]RE[]PB[]PL[]AB[])") == GameRecord(19, 19)


def test_nodes_keep_comments_and_setups() -> None:
    record = parse_record(b"(;SZ[5]C[a]AB[aa:bb]PL[w];C[b];;AE[aa]AW[cc]PL[B];B[dd]C[c\\]])")
    assert record.start == Setup(black=(0, 1, 5, 6), to_move=Colour.WHITE, comment="a")
    assert record.nodes == (
        Setup(comment="b"),
        Setup(white=(12,), empty=(0,), to_move=Colour.BLACK),
        Move(Colour.BLACK, 18, "c]"),
    )


def test_a_move_in_the_root_comes_after_its_comment() -> None:
    record = parse_record(b"(;SZ[5]C[a]W[ee])")
    assert (record.start, record.nodes) == (Setup(comment="a"), (Move(Colour.WHITE, 24),))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no game in this text"),
        ("(;B[aa]", "ends before its game is closed"),
        ("(;B[aa] 7 ;W[bb])", "cannot be read after byte 7, before"),
        ("(;B[aa])\n(;B[aa", "cannot be read after byte 12, before"),
        ("(;B)", "property with no values"),
        ("(;B[aa]())", "empty sequence"),
        ("(;GM[2])", "not Go"),
        ("(;SZ[20])", "size '20' is not between 1 and 19"),
        ("(;SZ[5:])", "size '5:'"),
        ("(;SZ[9]SZ[13])", "SZ has more than one value"),
        ("(;KM[1e3])", "komi '1e3' is not a number"),
        ("(;KM[0.1])", "komi '0.1' is not a whole or half number"),
        ("(;KM[99999])", "komi '99999'"),
        ("(;HA[two])", "handicap 'two'"),
        ("(;SZ[5]HA[26])", "handicap of 26"),
        ("(;PL[X])", "neither B nor W"),
        ("(;SZ[5];B[fa])", "point 'fa' is not on a board of 5 by 5"),
        ("(;SZ[5]AB[aa:ff])", "point 'ff'"),
        ("(;SZ[5]AB[bb:aa])", "corners of 'bb:aa' are not in order"),
        ("(;SZ[5]AB[aa][])", "point ''"),
        ("(;SZ[5]AB[aa]AE[aa])", "point A5 to two colours"),
        ("(;B[aa]W[bb])", "two moves"),
        ("(;B[aa][bb])", "two moves"),
        ("(;AB[aa]B[bb])", "a move and a setup"),
        ("(;CA[EBCDIC-CP-BE])", "charset 'EBCDIC-CP-BE'"),
        ("(;CA[zlib])", "charset 'zlib'"),
        ("(;CA[unicode_escape])", "charset"),
        ("(;C[" + "x" * 250_001 + "])", "250001 characters"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(SgfError, match=words) as found:
        parse_record(text.encode())
    sentence = str(found.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 250


FLOODS = {
    "bytes": b"(;C[" + b"x" * 10_000_000 + b"])",
    "nodes": b"(" + b";" * 9_000_000 + b")",
    "depth": b"(;" * 3_000_000,
    "closed depth": b"(;" * 200_000 + b")" * 200_000,
    "names": b"(;" + b"A " * 4_500_000 + b")",
    "values": b"(;AB" + b"[aa]" * 2_000_000 + b")",
    "games": b"(;)" * 3_000_000,
    "escapes": b"(;C[" + b"\\a" * 4_900_000 + b"])",
    "open escapes": b"(;C[" + b"\\a" * 4_900_000,
    "latin": b"(;C[" + b"\xe9" * 9_900_000 + b"])",
    "blanks": b"(" + b" " * 9_900_000,
    "brackets": b"(" * 9_900_000,
    "charsets": b"(;" + b"CA[" * 3_000_000 + b"])",
    "letters": b"a" * 9_900_000,
    "setups": b"(;" + b";AB[aa:ss]" * 20_000 + b")",
}


@pytest.mark.parametrize("name", FLOODS)
def test_floods_are_refused_in_bounded_time(name: str) -> None:
    begin = time.monotonic()
    with pytest.raises(SgfError):
        parse_record(FLOODS[name])
    assert time.monotonic() - begin < 60


LARGEST = """
from pathlib import Path
from node.exchange.sgf_reader import parse_record
from node.exchange.sgf_text import MAX_DEPTH
value = b"\\\\]" * 60_000
print(len(parse_record(b"(;" + b";B[aa]" * 50_000 + b")").nodes))
print(len(parse_record(b"(;C[" + value + b"]" + b";C[" + value + b"])").start.comment))
print(len(parse_record(b"(;B[aa]" * MAX_DEPTH + b")" * MAX_DEPTH).nodes))
print(len(parse_record(b"(;" + b"AB[aa:ss]" * 100_000 + b")").start.black))
print(len(parse_record(b"(;C[" + b"x" * 200_000 + b"]" + (b";C[" + b"x" * 200_000 + b"]") * 20 + b")").nodes))
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(int(peak.split()[1]) // 1024)  # getrusage would count what this test's own process holds
"""


def test_the_largest_that_is_read_takes_bounded_memory() -> None:
    done = subprocess.run([sys.executable, "-c", LARGEST], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    *found, megabytes = (int(line) for line in done.stdout.split())
    assert found == [50_000, 60_000, 10_000, 361, 20]
    assert megabytes < 400, "megabytes at most"
