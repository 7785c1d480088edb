"""How a node ends: by itself, by commands, by signals, and when its supervisor is gone. Real processes, real signals."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from node.control import ControlError, ask
from node.lifetime import SUPERVISOR_VARIABLE
from tests.node.screen.statuses import contributor

NODE = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    import trio
    from node.disk.home import Home
    from node.events import JsonLines
    from node.lifetime import Lifetime
    from tests.node.screen.statuses import contributor

    async def main(way):
        drained = trio.Event()

        async def role():
            if way == "fails":
                await trio.sleep(0.2)
                raise OSError(28, "No space left on device", "node.db")
            await drained.wait()
            if way == "slow":
                await trio.sleep_forever()

        async def put_down():
            await trio.sleep(0.1)
            JsonLines("test")("down", "All is down.")

        stop = trio.Event()
        interrupt = None
        if way == "coordinator":
            interrupt = drained.set
        lifetime = Lifetime(
            Home(Path(sys.argv[2])), JsonLines("test"), drained.set if way != "coordinator" else stop.set,
            f"Draining as {way}.", contributor, lambda: {"contributors": []},
            interrupt=interrupt, put_down=put_down if way == "putting down" else None,
        )
        return await lifetime.run(role)

    sys.exit(trio.run(main, sys.argv[1]))
    """
)


@contextmanager
def node(way: str, directory: Path, supervisor: str | None = None) -> Iterator[subprocess.Popen[str]]:
    """A running node of one of the ways above."""
    environment = {key: value for key, value in os.environ.items() if key != SUPERVISOR_VARIABLE}
    if supervisor is not None:
        environment[SUPERVISOR_VARIABLE] = supervisor
    process = subprocess.Popen(
        [sys.executable, "-c", NODE, way, str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        until_answers(directory, process)
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def handling(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    """What children that start meanwhile do with a signal, whatever this process inherited."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def until_answers(directory: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            assert ask(directory / "control.sock", "status") == contributor().to_json()
            return
        except ControlError:
            assert process.poll() is None
            time.sleep(0.02)
    pytest.fail("the node did not start")


def events(process: subprocess.Popen[str]) -> list[str]:
    """The names of the events that an ended process printed, each a whole JSON object on its line."""
    assert process.stdout is not None
    return [json.loads(line)["event"] for line in process.stdout.read().splitlines()]


def until_said(process: subprocess.Popen[str], event: str) -> None:
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == event


def test_the_first_interrupt_drains(tmp_path: Path) -> None:
    with node("quick", tmp_path) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert events(process) == ["draining"]
        assert not (tmp_path / "control.sock").exists()


def test_the_second_interrupt_stops(tmp_path: Path) -> None:
    with node("slow", tmp_path) as process:
        process.send_signal(signal.SIGINT)
        until_said(process, "draining")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def test_a_coordinator_ends_at_the_first_interrupt_and_not_by_a_drain(tmp_path: Path) -> None:
    with node("coordinator", tmp_path) as process:
        assert ask(tmp_path / "control.sock", "drain") == {"ok": True}
        until_said(process, "draining")
        assert ask(tmp_path / "control.sock", "status") == contributor().to_json()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_termination_stops_at_once(tmp_path: Path) -> None:
    with node("slow", tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert events(process) == []


def test_what_plays_nothing_cannot_rest(tmp_path: Path) -> None:
    with node("quick", tmp_path):
        for command in ("pause", "resume"):
            with pytest.raises(ControlError, match="nothing to pause"):
                ask(tmp_path / "control.sock", command)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGHUP", "command"])
def test_who_is_stopped_puts_down_what_is_under_way(way: str, tmp_path: Path) -> None:
    with handling(signal.SIGHUP, signal.SIG_DFL), node("putting down", tmp_path) as process:
        if way.startswith("SIG"):
            process.send_signal(signal.Signals[way])
        else:
            assert ask(tmp_path / "control.sock", "stop") == {"ok": True}
        assert process.wait(10) == 0
        assert events(process)[-1] == "down"


def test_commands(tmp_path: Path) -> None:
    with node("quick", tmp_path) as process:
        assert ask(tmp_path / "control.sock", "drain") == {"ok": True}
        assert process.wait(10) == 0
        assert process.stdout is not None
        (said,) = map(json.loads, process.stdout)
        assert (said["event"], said["text"]) == ("draining", "Draining as quick.")
    with node("slow", tmp_path) as process:
        assert ask(tmp_path / "control.sock", "drain") == {"ok": True}
        assert ask(tmp_path / "control.sock", "stop") == {"ok": True}
        assert process.wait(10) == 0
        assert events(process) == ["draining", "stopping"]


def test_a_supervisor_that_is_gone(tmp_path: Path) -> None:
    with node("slow", tmp_path, supervisor=str(os.getpid())) as process:
        time.sleep(0.3)
        assert process.poll() is None
    ended = subprocess.run(
        [sys.executable, "-c", NODE, "putting down", str(tmp_path)],
        capture_output=True,
        env={**os.environ, SUPERVISOR_VARIABLE: "none"},
        timeout=30,
    )
    assert ended.returncode == 0
    assert b"All is down." in ended.stdout


def test_who_ignores_a_hangup_goes_on(tmp_path: Path) -> None:
    with handling(signal.SIGHUP, signal.SIG_IGN), node("slow", tmp_path) as process:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None


def test_a_killed_node_starts_again(tmp_path: Path) -> None:
    with node("slow", tmp_path) as process:
        process.kill()
        process.wait(10)
    assert (tmp_path / "control.sock").exists()
    with pytest.raises(ControlError):
        ask(tmp_path / "control.sock", "status")
    with node("quick", tmp_path) as process:
        assert ask(tmp_path / "control.sock", "drain") == {"ok": True}
        assert process.wait(10) == 0


def test_a_role_that_fails_ends_the_node(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != SUPERVISOR_VARIABLE}
    ended = subprocess.run(
        [sys.executable, "-c", NODE, "fails", str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=30,
    )
    assert ended.returncode == 1  # the exception itself: the command line makes it a sentence
    assert "No space left on device" in ended.stderr
    assert not (tmp_path / "control.sock").exists()
