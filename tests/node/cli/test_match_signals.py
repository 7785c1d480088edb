"""`gonode match` that is told to end: its engines, which have sessions of their own, end with it."""

import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.node.homes import grown_world, make_home
from tests.node.matches.test_warden import is_running

ENGINE = Path(__file__).parents[1] / "matches" / "engine.py"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_engines_that_think_end_with_it(tmp_path: Path, number: signal.Signals) -> None:
    home = make_home(grown_world(), tmp_path / "coordinator")
    said = tmp_path / "pid"
    engine = shlex.join([sys.executable, "-I", str(ENGINE), "hang:genmove"])
    engine = shlex.join(["sh", "-c", f"echo $$ > {shlex.quote(str(said))}; exec {engine}"])
    match = subprocess.Popen(
        [
            *(sys.executable, "-c", "from node.cli.main import main; main()", "match", "random", f"gtp:{engine}"),
            *("--dir", str(home.directory), "--games", "2", "--record", str(tmp_path / "record")),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "record").exists():  # made just before the first game
        assert match.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    match.send_signal(number)
    _, stderr = match.communicate(timeout=60)
    expected = -signal.SIGKILL if number == signal.SIGKILL else 130
    assert (match.returncode, b"Traceback" in stderr) == (expected, False)
    while is_running(int(said.read_text())):  # after a SIGKILL its warden sees to that
        assert number == signal.SIGKILL
        assert time.monotonic() < deadline
        time.sleep(0.02)
