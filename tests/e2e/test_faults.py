"""Faults of the machine around real processes: disks, stopped peers, damaged files, a second start in a directory.

`tests/sim/test_faults.py` has the long forms on the virtual clock; kills are in `test_survival.py`.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from node.disk.home import Home
from node.disk.keyring import load_key
from protocol.header import BatchHeader
from tests.e2e.conftest import Handmade
from tests.e2e.process import LOOPBACK, Running, child_of, gonode, parse_events, query, running, wait_for

GAMES = "SELECT counter, block FROM games"


def status(home: Path) -> dict[str, Any]:
    """What `gonode status` says of the node in `home`."""
    found: dict[str, Any] = gonode("status", "--dir", home, "--json").json
    return found


def told(command: Running, event: str) -> int:
    """How often a node told an event."""
    return sum(each["event"] == event for each in parse_events(command.out))


def more(command: Running, event: str, count: int = 1) -> None:
    """Returns once a node has told an event so often again."""
    before = told(command, event)
    wait_for(lambda: told(command, event) >= before + count, f"another {event}")


def sentence(command: Running) -> str:
    """The one sentence with which a node ended, status 2."""
    ended = command.ended()
    assert ended.status == 2, ended
    assert ended.err.startswith("gonode: "), ended.err
    assert ended.err.count("\n") == 1, ended.err
    return ended.err


@contextmanager
def stopped(*processes: int) -> Iterator[None]:
    """Processes that do nothing for a while, like machines whose connections are half open."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def headers(network: Handmade, name: str) -> list[BatchHeader]:
    """The logged batches of a contributor."""
    key = load_key(Home(network.folder / name).key("host")).public
    return [header for header in network.logged(BatchHeader).values() if header.peer == key]


def test_a_contributors_disk_fills_and_is_emptied(network: Handmade, small_disk: Path) -> None:
    home = small_disk / "cramped"
    home.mkdir()
    (network.folder / "cramped").symlink_to(home)
    joining = network.joining("cramped", "--kernel", "scalar")
    with running(network.folder / "cramped-1", "join", *joining) as node:
        node.event("game")
        ballast = small_disk / "ballast"
        subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False)
        said = sentence(node)
    assert "full" in said or "space" in said, said
    kept = dict(query(home, GAMES))
    with running(network.folder / "cramped-2", "join", *joining) as node:
        said = sentence(node)
    assert "full" in said or "space" in said or "disk I/O" in said, said
    ballast.unlink()
    logged = len(headers(network, "cramped"))
    with running(network.folder / "cramped-3", "join", *joining) as node:
        node.event("logged")
        wait_for(lambda: len(headers(network, "cramped")) > logged, "a batch after the disk was emptied")
        played = {each["counter"] for each in parse_events(node.out) if each["event"] == "game"}
        assert not played & set(kept), "a game that was kept is not played again"
    first = 0
    for header in sorted(headers(network, "cramped"), key=lambda each: (each.release, each.first_counter)):
        first = 0 if header.first_counter == 0 else first
        assert header.first_counter == first
        first += header.games


def test_a_disk_that_is_read_only(network: Handmade, small_disk: Path) -> None:
    home = small_disk / "sealed"
    home.mkdir()
    (network.folder / "sealed").symlink_to(home)
    joining = network.joining("sealed")
    with running(network.folder / "sealed-1", "join", *joining) as node:
        node.event("registered")
        node.process.kill()
        node.process.wait()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for command in (("join", *joining), ("verify", network.ticket, "--dir", home, "--listen", LOOPBACK)):
        ended = gonode(*command)
        assert (ended.status, ended.err.count("\n")) == (2, 1)
        assert "ead-only" in ended.err or "readonly" in ended.err, ended.err
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    with running(network.folder / "sealed-2", "join", *joining) as node:
        node.event("playing")


def test_a_second_start_of_each_role(network: Handmade) -> None:
    joining = network.joining("single")
    with running(network.folder / "single", "join", *joining) as node:
        node.event("listening")
        commands = {
            node.process.pid: ("join", *joining),
            network.verifier.process.pid: ("verify", network.ticket, "--dir", network.folder / "verifier"),
            network.coordinator.process.pid: ("coordinate", network.folder / "coordinator"),
        }
        for process, command in commands.items():
            ended = gonode(*command)
            assert ended.status == 2
            assert f"Another gonode process (process {process}) already runs in" in ended.err.strip()
        assert status(network.folder / "single")["role"] == "contributor"


def test_a_coordinator_that_does_not_answer(network: Handmade) -> None:
    """Half-open connections: play goes on, status says what is awaited since when, and then everything is sent."""
    home = network.folder / "waits"
    with running(home, "join", *network.joining("waits", "--kernel", "scalar")) as node:
        node.event("logged")
        coordinator = load_key(Home(network.folder / "coordinator").key("host")).public.hex()
        with stopped(network.coordinator.process.pid):
            began = time.time()
            more(node, "game", 3)

            def waits() -> dict[str, Any] | None:
                links = status(home)["links"]
                return next((each for each in links if each["peer"] == coordinator and each["waiting_for"]), None)

            link = wait_for(waits, "a link on which something is awaited")
            assert link["waiting_for"].startswith("/gonode/")
            assert began - 60 < link["waiting_since_unix_s"] <= time.time()
            assert link["direction"] == "out"
            assert f"link      {coordinator[:8]}, since 20" in gonode("status", "--dir", home).out
        before = len(headers(network, "waits"))
        wait_for(lambda: len(headers(network, "waits")) > before, "a batch after the coordinator is back")
        wait_for(lambda: not query(home, "SELECT * FROM outbox") or None, "an empty outbox")
        shown = status(home)
        assert {each["name"] for each in shown["services"]} >= {"links", "gossip", "following", "outbox", "playing"}
        assert sum(each["restarts"] for each in shown["services"]) == 0
    counters = [
        counter
        for each in headers(network, "waits")
        for counter in range(each.first_counter, each.first_counter + each.games)
    ]
    assert len(counters) == len(set(counters))


def test_others_go_on_while_a_contributor_and_its_engine_stand_still(network: Handmade) -> None:
    with (
        running(network.folder / "still", "join", *network.joining("still", "--kernel", "scalar")) as still,
        running(network.folder / "lively", "join", *network.joining("lively", "--kernel", "scalar")) as lively,
    ):
        still.event("game")
        lively.event("game")
        engine = child_of(still.process.pid, "native.serve")
        assert engine is not None
        with stopped(still.process.pid, engine):
            more(lively, "logged", 1)
        more(still, "game", 1)


def test_damaged_files(network: Handmade, tmp_path: Path) -> None:
    """A node whose files are damaged ends with one sentence, or makes anew what it can; never with a traceback."""
    source = network.folder / "whole"
    joining = network.joining("whole", "--kernel", "scalar")
    with running(network.folder / "whole", "join", *joining) as node:
        node.event("logged")
        node.interrupt()
        assert node.ended().status == 0

    def start(name: str, stack: ExitStack) -> tuple[Path, Any]:
        home = tmp_path / name
        shutil.copytree(source, home, ignore=shutil.ignore_patterns("control.sock"))
        arguments = [home if each == source else each for each in joining]
        return home, lambda: stack.enter_context(running(tmp_path / f"{name}-said", "join", *arguments))

    with ExitStack() as stack:
        ends = {}
        for name, file, said in (("store", "node.db", "store"), ("key", "keys/host", "key")):
            home, run = start(name, stack)
            data = (home / file).read_bytes()
            (home / file).write_bytes(b"\xff" * 100 + data[100:])
            ends[name] = run(), said
        home, run = start("others", stack)
        (home / "control.sock").write_text("no socket")
        (home / "ticket").write_bytes(b"\xff" * 100)
        for blob in (home / "public").rglob("*"):
            if blob.is_file():
                blob.write_bytes(b"damaged" + blob.read_bytes()[7:])
        (home / "public.partial").mkdir(exist_ok=True)
        for suffix in ("part", "list", "1.tmp", "damaged"):
            (home / "public.partial" / f"{'ab' * 32}.{suffix}").write_bytes(b"\xff" * 1000)
        goes_on = run()
        for node, said in ends.values():
            assert said in sentence(node)
        goes_on.event("game")
