"""Nodes that run, asked and told by commands; who contributes, from a node or a folder."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from node.control import serve_control
from node.disk.home import Home
from node.role_status import Pause
from node.standing import contributors_of
from node.status import IN, BanState, LinkState, Queue, ServiceState
from tests.node.cli.gonode import Answer, gonode, the_object
from tests.node.homes import grown_world
from tests.node.screen.statuses import CONTRIBUTING, contributor

PAUSED: dict[str, Any] = {"waiting_for": "gonode resume (play is paused)", "since_unix_s": 12}
STATUS = contributor(
    Queue("batch", 1, "a peer", 12),
    own=replace(CONTRIBUTING, paused=Pause(**PAUSED)),
    log_size=7,
    links=(LinkState(b"\xcd" * 32, None, IN, 3, "/gonode/log/1 (head)", 61, 0),),
    relays=(b"\x1a" * 32,),
    services=(ServiceState("links", 0, None), ServiceState("gossip", 2, "KeyError: 'x' (gossip.py:1).")),
    bans=(BanState(b"\xef" * 32, "It served wrong bytes.", 2, 7200),),
    contained=4,
    next_try_in_s=2.5,
)


@contextmanager
def running(directory: Path, said: dict[str, Any] = STATUS.to_json()) -> Iterator[list[str]]:  # noqa: B008
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
                        "status": lambda: answer("status", said),
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
        assert the_object(answer) == STATUS.to_json()
        assert gonode("status", "--dir", tmp_path).out.splitlines() == [
            "gonode    0.4.1 mira (9c41e07b), run alpha, release r0123 (8f3e21aa)",
            "paused    waiting for gonode resume (play is paused)",
            "today     41 games, 1,204 plies",
            "credit    1,102 games verified (24,310 plies), 102 pending, 0 rejected",
            "peers     9, log 7 (812,044 behind), reached through 1 relay, batches waiting 1, next try in 2s",
            "queue     batch 1, waiting for: a peer, since 1970-01-01 00:00:12Z",
            "logged    batches 12, games 1,204, plies 108,360, verified 1,102, pending 102, rejected 0, "
            "credit 24,310 plies and 2,431,000 visits",
            "engine    cpu (avx2), threads 4, games 4, restarts 0, canaries 9, under way 16",
            "link      cdcdcdcd, since 1970-01-01 00:00:03Z, it dialed, waiting for: /gonode/log/1 (head), "
            "since 1970-01-01 00:01:01Z",
            "relay     1a1a1a1a, relays for this node",
            "parts     2, restarts 2, faults contained 4",
            "part      gossip, restarts 2, the last one after: KeyError: 'x' (gossip.py:1).",
            "ban       efefefef, 7200 s left, times 2, It served wrong bytes.",
        ]
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
        assert the_object(gonode("status", "--json")) == STATUS.to_json()
        (tmp_path / ".gonode" / "def").mkdir()
        assert gonode("status").status == 0
        with running(tmp_path / ".gonode" / "def"):
            assert "Several nodes run" in gonode("status").refusal()


COMMANDS = ["status", "stop", "drain", "pause", "resume"]


@pytest.mark.parametrize("way", ["variable", "file"])
def test_the_directory_of_joins_settings(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    there = tmp_path / "there"
    if way == "variable":
        monkeypatch.setenv("GONODE_JOIN_DIR", str(there))
    else:
        (tmp_path / ".gonode").mkdir()
        (tmp_path / ".gonode" / "gonode.toml").write_text('[join]\ndir = "~/there"\n')
    with running(tmp_path / ".gonode" / "other") as other:
        for name in COMMANDS:
            assert f"No running node answers in {there}." in gonode(name).refusal(3)
        with running(there) as heard:
            for name in COMMANDS:
                assert gonode(name, "--json").status == 0
            assert heard == COMMANDS
            assert other == []
            assert gonode("status", "--dir", tmp_path / ".gonode" / "other").status == 0
            assert other == ["status"]


def test_settings_of_join_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GONODE_JOIN_NICE", "very")
    assert "GONODE_JOIN_NICE" in gonode("stop").refusal()
    with running(tmp_path / "there"):
        assert gonode("stop", "--dir", tmp_path / "there").status == 0


@pytest.mark.parametrize("change", [{"log_size": "7"}, {"role": "king"}, {"links": None}])
def test_a_node_of_another_version(change: dict[str, Any], tmp_path: Path) -> None:
    with running(tmp_path, {**STATUS.to_json(), **change}):
        sentence = gonode("status", "--dir", tmp_path).refusal(3)
    (name,) = change
    assert "another version of gonode" in sentence
    assert f"not understood here: {name} is " in sentence


def test_a_newer_node_may_say_more(tmp_path: Path) -> None:
    with running(tmp_path, {**STATUS.to_json(), "mood": "good"}):
        assert gonode("status", "--dir", tmp_path).status == 0


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
