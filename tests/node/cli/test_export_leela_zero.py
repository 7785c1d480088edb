"""`gonode export leela-zero`: SGF files, a run, and what is left out."""

from pathlib import Path

from native.rules import Colour
from node.disk.home import Home
from node.exchange.leela_zero.export import GAMES_A_FILE
from node.exchange.leela_zero.files import read_positions
from node.exchange.record import GameRecord, Move
from node.exchange.sgf_writer import encode_sgf
from tests.node.cli.gonode import gonode, the_object


def sgf(result: str = "B+0.5", size: int = 19, moves: int = 3) -> bytes:
    nodes = tuple(Move((Colour.BLACK, Colour.WHITE)[i % 2], i) for i in range(moves))
    return encode_sgf(GameRecord(size, size, komi_half=15, result=result, nodes=nodes))


def test_files_of_sgf(tmp_path: Path) -> None:
    (tmp_path / "many.sgf").write_bytes(sgf("W+R") * GAMES_A_FILE)
    (tmp_path / "one.sgf").write_bytes(sgf(moves=5))
    (tmp_path / "small.sgf").write_bytes(sgf(size=9))
    (tmp_path / "drawn.sgf").write_bytes(sgf("0"))
    out = tmp_path / "out"
    names = [tmp_path / f"{name}.sgf" for name in ("many", "small", "one", "drawn")]
    found = the_object(gonode("export", "leela-zero", *names, "--out", out, "--json"))
    assert (found["games"], found["positions"]) == (GAMES_A_FILE + 1, 3 * GAMES_A_FILE + 5)
    assert found["files"] == [str(out / "games.0.gz"), str(out / "games.1.gz")]
    assert [len(list(read_positions(Path(path)))) for path in found["files"]] == [3 * GAMES_A_FILE, 5]
    assert found["games_left_out"] == 2
    assert found["left_out"][0] == {
        "name": str(tmp_path / "small.sgf"),
        "reason": "The board is 9x9, and Leela Zero plays 19x19 only.",
    }
    answer = gonode("export", "leela-zero", *names[1:3], "--out", tmp_path / "other")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith(f"1 game, 5 positions: {tmp_path / 'other'}. 1 game left out, first ")


def test_what_it_refuses(home: Home, tmp_path: Path) -> None:
    def refusal(*words: object) -> str:
        return gonode("export", "leela-zero", *words, "--out", tmp_path / "out").refusal()

    (tmp_path / "small.sgf").write_bytes(sgf(size=9))
    (tmp_path / "text.sgf").write_bytes(b"no game")
    assert "The board is 9x9, and Leela Zero plays 19x19 only." in refusal(tmp_path / "small.sgf")
    assert refusal("--dir", home.directory).endswith("and Leela Zero plays 19x19 only.")
    assert f"{tmp_path / 'text.sgf'}: " in refusal(tmp_path / "text.sgf")
    assert "No such file" in refusal(tmp_path / "none.sgf")
    assert "Say once whose games" in refusal()
    assert "Say once whose games" in refusal(tmp_path / "small.sgf", "--dir", home.directory)
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "file").touch()
    assert "something is in this folder" in refusal(tmp_path / "small.sgf")
