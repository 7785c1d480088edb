"""What the machine refuses, in one sentence each: full disk, directory that cannot be written, taken port, second start."""

import resource
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from node.disk.home import Home
from tests.e2e.process import LOOPBACK, TINY, gonode, log_of, running, wait_for


@pytest.fixture
def founded(tmp_path: Path) -> Path:
    """A coordinator's directory of a run that has not started."""
    assert gonode("run", "init", tmp_path / "coordinator", "--from", TINY).status == 0
    return tmp_path / "coordinator"


def test_a_second_start_in_the_same_directory(founded: Path) -> None:
    with running(founded.with_name("said"), "coordinate", founded, "--json") as command:
        command.event("listening")
        ended = gonode("coordinate", founded)
        assert ended.status == 2
        assert ended.sentence == (f"Another gonode process (process {command.process.pid}) already runs in {founded}.")
        assert gonode("status", "--dir", founded, "--json").json["role"] == "coordinator"
        assert gonode("stop", "--dir", founded).status == 0
        assert command.ended().status == 0


def test_a_taken_port(founded: Path) -> None:
    port = int(Home(founded).load_ticket().addresses[0].split("/")[4])
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        ended = gonode("coordinate", founded)
    assert ended.status == 2
    assert str(port) in ended.sentence


@pytest.mark.parametrize("command", ["run init", "local", "join", "verify --request"])
def test_a_directory_that_cannot_be_written(tmp_path: Path, founded: Path, command: str) -> None:
    ticket = (founded / "ticket").read_text(encoding="ascii").strip()
    (tmp_path / "file").touch()
    for folder in ("/proc/gonode", tmp_path / "file" / "below"):
        arguments = {
            "run init": ("run", "init", folder),
            "local": ("local", "--dir", folder),
            "join": ("join", ticket, "--dir", folder, "--listen", LOOPBACK),
            "verify --request": ("verify", ticket, "--dir", folder, "--request"),
        }[command]
        ended = gonode(*arguments)
        assert ended.status == 2
        assert str(folder) in ended.sentence


def limited(files_bytes: int) -> Callable[[], None]:
    """A disk that holds no file beyond this size."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (files_bytes, files_bytes))


@pytest.mark.parametrize("free", [0, 100_000])
def test_a_disk_that_is_full_at_the_start(tmp_path: Path, founded: Path, free: int) -> None:
    ended = gonode("coordinate", founded, setup=limited(free))
    assert ended.status == 2
    assert ended.err.startswith("gonode: ")
    assert ended.err.count("\n") == 1
    assert gonode("run", "init", tmp_path / "other", "--from", TINY, setup=limited(min(free, 1000))).status == 2
    with running(founded.with_name("said"), "coordinate", founded, "--json") as command:
        command.event("listening")


def test_a_disk_that_fills_while_the_node_runs(founded: Path, small_disk: Path) -> None:
    home = small_disk / "coordinator"
    shutil.copytree(founded, home)
    with running(founded.with_name("said"), "coordinate", home, "--json") as command:
        command.event("listening")
        wait_for(lambda: log_of(home), "the log's first entries")
        ballast = small_disk / "ballast"
        subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False)
        ended = command.ended()
    assert ended.status == 2
    assert ended.err.startswith("gonode: ")
    assert ended.err.count("\n") == 1
    ballast.unlink()
    before = log_of(home)
    with running(founded.with_name("again"), "coordinate", home, "--json") as command:
        command.event("listening")
        wait_for(lambda: len(log_of(home)) > len(before), "new entries")
    assert log_of(home)[: len(before)] == before
