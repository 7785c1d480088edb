"""What audit, local, run init and events print, as text and as JSON."""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from node.cli.local import Screen, _finish
from node.disk.home import Home
from node.events import JsonLines
from node.local import LocalNetwork, LocalOptions
from protocol.ticket import Ticket
from tests.node.cli.gonode import Answer, gonode, the_object
from tests.node.homes import TICKET, grown_world, make_home
from tests.node.screen.statuses import COORDINATING
from tests.node.screen.statuses import status as status_of


def test_audit(home: Home) -> None:
    answer = gonode("audit", "--dir", home.directory, "--json", "--sample", 1)
    assert (answer.status, answer.err) == (0, "")
    found = the_object(answer)
    assert set(found) >= {"ok", "release", "checks"}
    assert found["ok"] is True
    assert found["release"] == grown_world().state.release.name
    assert all(set(check) == {"name", "ok", "detail"} for check in found["checks"])
    assert {"head", "files", "release", "gate", "window", "games", "chain"} <= {c["name"] for c in found["checks"]}
    text = gonode("audit", "--dir", home.directory, "--sample", 1)
    assert text.status == 0
    assert text.out.splitlines()[-1] == f"The audit of {found['release']} passed."
    assert len(text.out.splitlines()) == len(found["checks"]) + 1


def test_an_audit_that_fails(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "coordinator")
    (home.public / "stranger").write_text("x")
    answer = gonode("audit", "--dir", home.directory, "--json", "--sample", 0)
    assert (answer.status, answer.err) == (1, "")
    failed = [check for check in the_object(answer)["checks"] if check["ok"] is False]
    assert [check["name"] for check in failed] == ["files"]
    assert "stranger" in failed[0]["detail"]
    unknown = gonode("audit", "--dir", home.directory, "--json", "--sample", 0, "--release", "nobody")
    assert unknown.status == 1
    assert the_object(unknown)["release"] == ""


def test_local(tmp_path: Path) -> None:
    """The summary after the processes ended, over a run that was played before."""
    make_home(grown_world(), tmp_path / "coordinator")
    network = LocalNetwork(LocalOptions(tmp_path, None, 1, 2, 1.0, 0.0, None, None), lambda event, text: None)
    network.coordinator.status = status_of(COORDINATING, games=5, plies=200, batches=2)
    for reached, status in ((True, 0), (False, 1)):
        answer = _captured(lambda reached=reached: _finish(network, Screen(False), reached, True))
        assert answer.status == status
        found = the_object(answer)
        assert set(found) >= {"seconds", "games", "plies", "batches", "rejected", "releases", "audit_ok"}
        assert (found["games"], found["plies"], found["audit_ok"]) == (5, 200, True)
        assert all(set(release) == {"name", "elo", "elo_error"} for release in found["releases"])
        assert len(found["releases"]) == 2


def test_local_whose_time_ends_before_a_head_is_shown(tmp_path: Path) -> None:
    network = LocalNetwork(LocalOptions(tmp_path, None, 1, 2, 1.0, 0.0, None, None), lambda event, text: None)
    answer = _captured(lambda: _finish(network, Screen(False), False, True))
    assert answer.status == 1
    found = the_object(answer)
    assert (found["audit_ok"], found["releases"]) == (False, [])


def _captured(finish: Any) -> Answer:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = finish()
    return Answer(status, out.getvalue(), err.getvalue())


def test_events_are_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    printer = JsonLines("contributor")
    printer("game", 'Game "3"\nfinished.', counter=3, plies=44)
    printer("waiting", "Nobody is there.")
    lines = capsys.readouterr().out.splitlines()
    first, second = (json.loads(line) for line in lines)
    assert set(first) == {"event", "role", "unix_s", "text", "counter", "plies"}
    assert (second["event"], second["role"]) == ("waiting", "contributor")


def test_run_init_invite_and_request(tmp_path: Path) -> None:
    key = gonode("verify", TICKET, "--request", "--dir", tmp_path / "verifier")
    assert re.fullmatch("[0-9a-f]{64}\n", key.out)
    as_json = the_object(gonode("verify", TICKET, "--request", "--json", "--dir", tmp_path / "verifier"))
    assert as_json == {"event": "request", "key": key.out.strip()}
    made = gonode("run", "init", tmp_path / "run", "--from", "runs/demo.toml")
    assert made.status == 0
    ticket = Ticket.parse(made.out)
    assert made.out == ticket.encode() + "\n"
    assert ticket.run.hex() in made.err
    assert gonode("root", "sign", tmp_path / "run", "--verifier", key.out.strip()).out.startswith("Root version 2: 1 ")
    invites = {gonode("invite", tmp_path / "run").out for _ in range(3)}
    assert len(invites) == 3
    assert all(re.fullmatch("gonode-invite1[a-z2-7]+\n", invite) for invite in invites)
