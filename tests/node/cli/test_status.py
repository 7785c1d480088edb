"""Nodes that run, asked and told by commands; who contributes, from a node or a folder."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from node.control import serve_control
from node.disk.home import Home
from node.standing import contributors_of
from tests.node.cli.gonode import Answer, gonode, the_object
from tests.node.homes import grown_world

PAUSED = {"waiting_for": "gonode resume (play is paused)", "since_unix_s": 12}
STATUS = {
    "role": "contributor",
    "run": "ab" * 32,
    "release": "first",
    "log_size": 7,
    "peers": 2,
    "links": [
        {
            "peer": "cd" * 32,
            "address": None,
            "direction": "in",
            "since_unix_s": 3,
            "waiting_for": "/gonode/log/1 (head)",
            "waiting_since_unix_s": 61,
            "score": 0,
        }
    ],
    "services": [
        {"name": "links", "restarts": 0, "last_failure": None},
        {"name": "gossip", "restarts": 2, "last_failure": "KeyError: 'x' (gossip.py:1)."},
    ],
    "bans": [{"peer": "ef" * 32, "reason": "It served wrong bytes.", "times": 2, "left_s": 7200}],
    "contained": 4,
    "next_try_in_s": 2.5,
    "queues": [{"name": "batch", "length": 1, "waiting_for": "a peer", "since_unix_s": 12}],
    "paused": PAUSED,
    "games": 3,
    "plies": 100,
    "verified": 1,
    "pending": 1,
    "rejected": 1,
}


@contextmanager
def running(directory: Path) -> Iterator[list[str]]:
    """A node in `directory` that only answers its socket."""
    heard: list[str] = []
    started, token = threading.Event(), []

    async def answer(name: str, value: dict[str, Any]) -> dict[str, Any]:
        heard.append(name)
        return value

    async def main() -> None:
        with trio.CancelScope() as scope:
            token.append((trio.lowlevel.current_trio_token(), scope))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(
                    serve_control,
                    directory / "control.sock",
                    {
                        "status": lambda: answer("status", STATUS),
                        "contributors": lambda: answer("contributors", contributors_of(grown_world().state)),
                        "drain": lambda: answer("drain", {"ok": True}),
                        "stop": lambda: answer("stop", {"ok": True}),
                        "pause": lambda: answer("pause", {"ok": True, "paused": PAUSED}),
                        "resume": lambda: answer("resume", {"ok": True, "paused": None}),
                    },
                )
                while not (directory / "control.sock").exists():
                    await trio.sleep(0.01)
                await trio.sleep(0.02)
                started.set()

    thread = threading.Thread(target=trio.run, args=[main])
    directory.mkdir(parents=True, exist_ok=True)
    thread.start()
    assert started.wait(10)
    try:
        yield heard
    finally:
        trio_token, scope = token[0]
        trio_token.run_sync_soon(scope.cancel)
        thread.join(10)


def test_a_running_node(tmp_path: Path) -> None:
    with running(tmp_path) as heard:
        answer = gonode("status", "--dir", tmp_path, "--json")
        assert answer.status == 0
        assert the_object(answer) == STATUS
        text = gonode("status", "--dir", tmp_path).out
        assert "role: contributor\n" in text
        assert "queue batch: 1, waiting for: a peer (since 1970-01-01 00:00:12Z)\n" in text
        assert (
            "link cdcdcdcd: since 1970-01-01 00:00:03Z, it dialed, waiting for: /gonode/log/1 (head) "
            "(since 1970-01-01 00:01:01Z)\n"
        ) in text
        assert "services: 2, restarts 2\n" in text
        assert "ban efefefef: 7200 s left, times 2: It served wrong bytes.\n" in text
        assert "next_try_in_s: 2.5\n" in text
        assert "paused, waiting for: gonode resume (play is paused) (since 1970-01-01 00:00:12Z)\n" in text
        assert "service gossip: restarts 2, the last one after: KeyError: 'x' (gossip.py:1).\n" in text
        assert the_object(gonode("drain", "--dir", tmp_path, "--json")) == {"ok": True}
        assert gonode("stop", "--dir", tmp_path) == Answer(0, "Stopping.\n", "")
        rests = "Play rests; waiting for: gonode resume (play is paused).\n"
        assert gonode("pause", "--dir", tmp_path) == Answer(0, rests, "")
        assert the_object(gonode("pause", "--dir", tmp_path, "--json")) == {"ok": True, "paused": PAUSED}
        assert gonode("resume", "--dir", tmp_path) == Answer(0, "Play goes on.\n", "")
        assert heard == ["status", "status", "drain", "stop", "pause", "pause", "resume"]


@pytest.mark.parametrize("name", ["status", "stop", "drain", "pause", "resume"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_nothing_runs(name: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No running node answers" in gonode(name, "--dir", tmp_path, *options).refusal(3)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "No node runs below ~/.gonode" in gonode(name, *options).refusal(3)


def test_the_directory_may_be_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with running(tmp_path / ".gonode" / "abc"):
        assert the_object(gonode("status", "--json")) == STATUS
        (tmp_path / ".gonode" / "def").mkdir()
        assert gonode("status").status == 0
        with running(tmp_path / ".gonode" / "def"):
            assert "Several nodes run" in gonode("status").refusal()


ROW = {
    "key",
    "name",
    "standing",
    "reason",
    "entry",
    "passed",
    "needed",
    "batches",
    "games",
    "failed_games",
    "credit_plies",
    "credit_visits",
    "held",
    "released",
    "q_ppm",
    "q_reason",
    "scrutiny",
    "last_seen",
    "replaces",
    "replaced_by",
}


def test_contributors_of_a_running_node_and_of_a_folder(home: Home, tmp_path: Path) -> None:
    read = gonode("status", "--contributors", "--dir", home.directory, "--json")
    assert (read.status, read.err) == (0, "")
    found = the_object(read)
    assert set(found) == {"run", "log_size", "contributors", "total"}
    (ada,) = found["contributors"]
    assert set(ada) == ROW
    assert (ada["name"], ada["standing"], len(ada["key"])) == ("ada", "good", 64)
    assert found["total"]["credit_plies"] == ada["credit_plies"] > 0
    with running(tmp_path) as heard:
        assert gonode("status", "--contributors", "--dir", tmp_path, "--json") == read
        text = gonode("status", "--contributors", "--dir", tmp_path)
        assert heard == ["contributors", "contributors"]
    assert text == gonode("status", "--contributors", "--dir", home.directory)
    head, row, last = text.out.splitlines()
    assert head.split()[:3] == ["name", "key", "standing"]
    assert row.split()[:3] == ["ada", ada["key"][:8], "good"]
    assert last.split()[:3] == ["total", "1", "contributor"]


def test_contributors_where_nothing_is(tmp_path: Path) -> None:
    assert "no run is here" in gonode("status", "--contributors", "--dir", tmp_path).refusal()
