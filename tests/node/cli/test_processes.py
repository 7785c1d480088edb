"""Real nodes whose run is not there: they go on looking, answer commands, hold their directory, and end as asked."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from node.control import ControlError, ask
from tests.node.homes import TICKET


@contextmanager
def node(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """`gonode ARGUMENTS --json --listen` on loopback; killed at the end."""
    command = [sys.executable, "-m", "node", *map(str, arguments), "--json", "--listen", "/ip4/127.0.0.1/tcp/0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def status_of(directory: Path, process: subprocess.Popen[str]) -> dict[str, Any]:
    """The status once the node answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return ask(directory / "control.sock", "status")
        except ControlError:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.1)
    pytest.fail("the node does not answer")


def events(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return [json.loads(line)["event"] for line in process.stdout.read().splitlines()]


@pytest.mark.parametrize("role", ["join", "verify"])
def test_a_node_that_looks_for_its_run(role: str, tmp_path: Path) -> None:
    with node(role, TICKET, "--dir", tmp_path, "--threads", 1) as process:
        status = status_of(tmp_path, process)
        assert (status["role"], status["log_size"], status["release"]) == (
            {"join": "contributor", "verify": "verifier"}[role],
            0,
            None,
        )
        second = subprocess.run(
            [sys.executable, "-m", "node", role, TICKET, "--dir", str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (second.returncode, second.stdout) == (2, "")
        assert second.stderr == f"gonode: Another gonode process (process {process.pid}) already runs in {tmp_path}.\n"
        assert ask(tmp_path / "control.sock", "drain") == {"ok": True}
        assert process.wait(30) == 0
        assert events(process) == ["listening", "connecting", "draining"]
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_an_interrupt_before_the_log(tmp_path: Path) -> None:
    with node("join", TICKET, "--dir", tmp_path, "--threads", 1) as process:
        status_of(tmp_path, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_contributor_rests_as_it_is_told(tmp_path: Path) -> None:
    """By `gonode pause` and by its hours; one that is through with its minutes drains."""
    closed = time.localtime(time.time() + 7200).tm_hour
    options = ("--threads", 1, "--hours", f"{closed}-{(closed + 1) % 24}", "--minutes", 0.2)
    with node("join", TICKET, "--dir", tmp_path, *options) as process:
        by_hours = status_of(tmp_path, process)["paused"]
        while by_hours is None:
            time.sleep(0.1)
            by_hours = status_of(tmp_path, process)["paused"]
        assert by_hours["waiting_for"].startswith(f"{closed}:00 o'clock (--hours ")
        paused = ask(tmp_path / "control.sock", "pause")["paused"]
        assert paused["waiting_for"] == f"{by_hours['waiting_for']}; gonode resume (play is paused)"
        resumed = ask(tmp_path / "control.sock", "resume")
        assert resumed["paused"]["waiting_for"] == by_hours["waiting_for"]
        assert process.wait(60) == 0
        assert events(process) == ["listening", "connecting", "paused", "paused", "spent", "draining"]
