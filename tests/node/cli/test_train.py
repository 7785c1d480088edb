"""`gonode train` as a process: a network from a small run's folder, stopped and gone on with, and what it refuses."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.cli.training_screen import Bar, Lines
from node.disk.home import Home
from node.disk.lockfile import locked
from node.training.events import Exporting, Progress, Skipped
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world

pytest.importorskip("torch")

KEYS = {
    *("run", "shape", "network", "weights", "steps", "samples", "rows", "batches", "missing", "skipped"),
    *("processes", "device", "losses", "held_out_losses", "rounding", "seconds"),
}
WITHIN_S = 120.0


def command(home: Home, out: Path, *more: object) -> list[str]:
    words = (sys.executable, "-m", "node", "train", "--data", home.directory, "--out", out, *more)
    return [str(word) for word in words]


def ended(home: Home, out: Path, *more: object) -> dict[str, Any]:
    done = subprocess.run(command(home, out, "--json", *more), capture_output=True, text=True, timeout=WITHIN_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lines_of(out: Path) -> int:
    metrics = out / "metrics.jsonl"
    return metrics.read_bytes().count(b"\n") if metrics.exists() else 0


def test_a_network_of_another_size_that_plays(home: Home, tmp_path: Path) -> None:
    out = tmp_path / "out"
    more = ("--network", "b2c16", "--steps", 20, "--set", "training.learning_rate=0.01")
    found = ended(home, out, *more)
    assert set(found) >= KEYS
    assert (found["shape"], found["steps"], found["samples"], found["missing"]) == ("b2c16", 20, 1280, 0)
    assert found["network"] == str(out / "network.bin")
    assert found["rows"] == sum(batch.header.plies for batch in grown_world().state.batches.released)
    network = Path(found["network"]).read_bytes()
    again = ended(home, out, *more)
    assert {**again, "seconds": 0} == {**found, "seconds": 0}
    assert Path(found["network"]).read_bytes() == network
    players = ("match", out / "network.bin", "random", "--dir", home.directory)
    assert gonode(*players, "--games", 2, "--visits", 2, "--json").status == 0


def test_the_same_command_goes_on(home: Home, tmp_path: Path) -> None:
    """Ctrl-C saves; after it and after a kill the bytes are those of a training that nothing stopped. The trainer of the one
    that was killed is still at work when the next begins."""
    more = ("--steps", 160)
    out = tmp_path / "stopped"
    for number in (signal.SIGINT, signal.SIGKILL):
        before = lines_of(out)
        with subprocess.Popen(command(home, out, *more), stderr=subprocess.PIPE, text=True) as process:
            wait_for(lambda before=before: lines_of(out) > max(1, before))  # type: ignore[misc]
            process.send_signal(number)
            _, err = process.communicate(timeout=WITHIN_S)
        if number == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 130, err
            assert err.splitlines()[-1].endswith(f"Stopped; the same command goes on with {out}.")
            assert len(list(out.glob("train_state-*.bin"))) >= 1
        assert not (out / "result.json").exists()
    found, straight = ended(home, out, *more), ended(home, tmp_path / "straight", *more)
    assert found["losses"] == straight["losses"]
    for name in ("network", "weights"):
        assert Path(found[name]).read_bytes() == Path(straight[name]).read_bytes()


def test_a_terminal_shows_a_bar(home: Home, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(home, tmp_path / "out", "--steps", 5), stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while part := _read(ours):
            shown += part
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    assert "5/5" in shown.decode()
    assert out.count("\n") == 1
    assert "b1c16, 5 steps, 320 samples" in out


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other side is closed
        return b""


@pytest.mark.parametrize("screen", [Lines(), Bar()], ids=["lines", "bar"])
def test_screens(screen: Any, capsys: pytest.CaptureFixture[str]) -> None:
    screen.hear(Progress(3, 9, 2.0, 1.5, 0.5, 4321, 0.031, 3700.0))
    screen.hear(Skipped("ab", "[it] is damaged"))
    screen.hear(Exporting())
    screen.close()
    out, err = capsys.readouterr()
    assert out == ""
    text = " ".join(err.split())
    assert "Batch ab was skipped: [it] is damaged" in text
    assert "Rounding to the integer network." in text
    if isinstance(screen, Lines):
        numbers = "loss 2.000, policy 1.500, value 0.500 4,321 samples/s waited 3 % 1:01:40 left"
        assert f"step 3 of 9 {numbers}" in text


def test_what_it_refuses(home: Home, tmp_path: Path) -> None:
    def refusal(*words: object, data: Path = home.directory) -> str:
        return gonode("train", "--data", data, "--out", tmp_path / "out", *words).refusal()

    assert "--data" in gonode("train").refusal()
    assert "neither a node's directory nor a copy" in refusal(data=tmp_path)
    assert "either --steps or --samples" in refusal("--steps", 1, "--samples", 1)
    assert "written like b4c32" in refusal("--network", "large")
    assert "says nothing about network, window, training" in refusal("--preset", "9x9")
    assert "is not a preset" in refusal("--preset", "x")
    assert "There is no key training.lr here" in refusal("--set", "training.lr=1")
    assert "Invalid value for '--device'" in refusal("--device", "tpu")
    assert not (tmp_path / "out").exists()
    with locked(tmp_path / "out"):
        assert "already runs in" in refusal("--steps", 1)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["lock"]
    made = {"shape": "b1c16", "run": "tiny", "batches": 1, "rows": 1, "missing": 0}
    (tmp_path / "out" / "asked.json").write_text(json.dumps({"asked": {"steps": 1}, "made": made}))
    (tmp_path / "out" / "train_state-0000000001.bin").touch()
    assert "another training is here" in refusal("--steps", 2)


def test_the_extra_is_missing(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.training.session.find_spec", lambda name: None)
    answer = gonode("train", "--data", home.directory, "--out", tmp_path / "out").refusal()
    assert answer == "Training needs torch: install gonode with its extra, `gonode[train]`."


def test_a_training_that_fails(home: Home, tmp_path: Path) -> None:
    """A rate at which nothing stays finite: the trainer's sentence, and the answer is no."""
    rate = ("--set", "training.learning_rate=4000", "--set", "training.warmup_steps=0")
    clip = ("--set", "training.gradient_clip=4000", "--steps", 200)
    answer = gonode("train", "--data", home.directory, "--out", tmp_path / "out", *rate, *clip, "--json")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.splitlines()[-1].startswith("gonode: ")
    assert "The last good state is that of step 0." in answer.err
