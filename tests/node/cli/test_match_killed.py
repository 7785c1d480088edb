"""`gonode match` killed in the middle: no engine is left, and the same command ends as one that was never killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from node.disk.home import Home
from tests.leelaz import needs_leelaz
from tests.node.cli.gonode import gonode, the_object
from tests.node.matches.test_gnugo import GNUGO, RULES
from tests.node.matches.test_warden import is_running
from trainer.network.leela_zero import LeelaZeroNet

needs_gnugo = pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed (apt install gnugo)")


def engines(mark: str) -> list[int]:
    """Processes, other than matches, whose command has `mark`."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if path.name.isdigit() and b"match" not in words and any(mark.encode() in word for word in words):
            found.append(int(path.name))
    return [each for each in found if is_running(each)]


def killed_after_a_pair(words: list[str], record: Path, mark: str) -> None:
    """Plays until the first pair is on the disk, and an engine is at the next."""
    match = subprocess.Popen(
        [sys.executable, "-c", "from node.cli.main import main; main()", "match", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 240
    while not (record.exists() and record.read_bytes().count(b"\n") >= 2 and engines(mark)):
        assert match.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    match.send_signal(signal.SIGKILL)
    assert match.wait(60) == -signal.SIGKILL
    while engines(mark):
        assert time.monotonic() < deadline, "an engine is left"
        time.sleep(0.05)


def check(home: Home, tmp_path: Path, mark: str, *players: object) -> None:
    options = [*map(str, players), "--dir", str(home.directory), "--threads", "2"]
    record, sgf = tmp_path / "killed.jsonl", tmp_path / "games"
    killed_after_a_pair([*options, "--record", str(record), "--sgf", str(sgf)], record, mark)
    before = record.read_bytes()
    os.unlink(min(sgf.iterdir()))
    again = gonode("match", *options, "--record", record, "--sgf", sgf, "--json")
    whole = gonode("match", *options, "--record", tmp_path / "whole.jsonl", "--json")
    assert again == whole
    assert the_object(whole)["forfeits"] == []
    assert record.read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    assert sorted(record.read_text().splitlines()[1:]) == sorted(
        (tmp_path / "whole.jsonl").read_text().splitlines()[1:]
    )
    assert len(list(sgf.iterdir())) == json.loads(whole.out)["games"]
    assert not engines(mark)


@needs_gnugo
def test_with_gnugo(home: Home, tmp_path: Path) -> None:
    """With its games' seeds GNU Go plays the same moves, in whichever process."""
    assert GNUGO is not None
    program = tmp_path / "gnugo-here"
    program.symlink_to(GNUGO)
    engine = f"gtp:gnugo={program} --mode gtp --level 1 {RULES}"
    check(home, tmp_path, str(program), engine, "random", "--size", 7, "--komi", 6.5, "--games", 8)


@needs_leelaz
def test_with_leelaz(home: Home, tmp_path: Path) -> None:
    weights = tmp_path / "one-here.txt"
    weights.write_bytes(LeelaZeroNet.seeded(1, 8, 1).weights().encode())
    short = ("--size", 19, "--visits", 3, "--move-limit", 40, "--games", 14)
    check(home, tmp_path, str(weights), weights, "random", *short)
