"""`gonode gtp` as a process: through pipes, and in a match of our own against itself and against GNU Go."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.matches.gtp_engine import GtpEngine
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home
from tests.node.play.players import network_file

GNUGO = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
DEADLINE_S = 60.0


def command(path: Path, *more: object) -> list[str]:
    """The process's words."""
    return [sys.executable, "-m", "node", "gtp", str(path), "--dir", str(path.parent / "none"), *map(str, more)]


def test_a_game_with_itself(tmp_path: Path) -> None:
    engine = GtpEngine(command(network_file(tmp_path), "--visits", 4, "--size", 7), DEADLINE_S)
    try:
        assert engine.ask("name") == "gonode"
        assert engine.ask("set_random_seed 1") == ""
        moves: list[str] = []
        while moves[-2:] != ["pass", "pass"] and len(moves) < 200:
            moves.append(engine.ask(f"genmove {'bw'[len(moves) % 2]}"))
            assert moves[-1] == "pass" or moves[-1][0] in "ABCDEFG"
        assert engine.ask("final_score")[0] in "BW0"
        assert "SZ[7]" in engine.ask("printsgf")
    finally:
        engine.close()
        engine.release()


def test_standard_output_has_answers_alone(tmp_path: Path) -> None:
    text = b"1 boardsize 7\n2 lz-analyze b 1 interval 1\n3 genmove_debug b\nnonsense\n\x00\xff\n"
    ended = subprocess.run(
        command(network_file(tmp_path), "--visits", "4"), input=text, capture_output=True, timeout=120
    )
    assert ended.returncode == 0
    answers = ended.stdout.decode().split("\n\n")
    assert [each[:2] for each in answers] == ["=1", "=2", "=3", "? ", "? ", ""]
    assert answers[1].startswith("=2\ninfo move ")
    assert ended.stderr.startswith(b"4 visits, win rate ")


@pytest.mark.parametrize("end", ["kill", "terminate", "interrupt", "input", "output", "quit"])
def test_an_analysis_outlives_nothing(tmp_path: Path, end: str) -> None:
    """Whatever becomes of its controller in mid-analysis, the process ends at once, and it has no others."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command(network_file(tmp_path), "--size", 9), stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"kata-analyze b 1\n")
        process.stdin.flush()
        while not process.stdout.readline().startswith(b"info"):
            assert process.poll() is None
        assert not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        match end:
            case "input":
                process.stdin.close()
            case "output":
                process.stdout.close()
            case "quit":
                process.stdin.write(b"quit\n")
                process.stdin.flush()
            case _:
                number = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "interrupt": signal.SIGINT}[end]
                process.send_signal(number)
        status = process.wait(20)
    assert status == {"kill": -9, "terminate": -15, "interrupt": 130, "input": 0, "output": 2, "quit": 0}[end]


@pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed (apt install gnugo)")
def test_matches_of_our_own(tmp_path: Path) -> None:
    """Two games on 7x7 with the same network as it plays by itself, and two with GNU Go."""
    home = make_home(grown_world(), tmp_path / "coordinator")
    words = " ".join(command(network_file(tmp_path), "--visits", 4))
    for other in ("random", f"gtp:gnugo={GNUGO} --mode gtp --level 1 --chinese-rules"):
        answer = gonode(
            *("match", f"gtp:gonode={words}", other, "--size", 7, "--games", 2, "--dir", home.directory, "--json")
        )
        assert (answer.status, answer.err) == (0, "")
        found = json.loads(answer.out)
        assert (found["games"], found["players"][0], found["forfeits"]) == (2, "gonode", [])
