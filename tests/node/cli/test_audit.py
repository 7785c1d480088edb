"""`gonode audit` and `gonode mirror`: from where, what is shown meanwhile, and what they refuse."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.cli import audit_screen
from node.cli.audit_screen import Bar, Lines, words
from node.disk.home import Home
from node.disk.keyring import create_key
from tests.node.audits.web_server import Server, web_server
from tests.node.cli.gonode import gonode
from tests.node.homes import TICKET, grown_world, make_home
from tests.node.keys import secret
from verification.audit.audit import Progress


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with web_server(grown_world().public()) as server:
        yield server


def test_an_audit_over_http(server: Server, tmp_path: Path) -> None:
    answer = gonode("audit", "--url", server.url, "--sample", 1, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert (found["ok"], found["release"]) == (True, grown_world().state.release.name)
    kept = gonode("audit", "--url", server.url, "--dir", tmp_path / "copy", "--sample", 1)
    assert (kept.status, kept.err) == (0, "")
    assert gonode("audit", "--dir", tmp_path / "copy", "--sample", 0).status == 0


def test_later_audits_replay_other_games(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "run")
    command = ("audit", "--dir", home.directory, "--sample", 1)
    assert "1 of 8 games replayed, bit for bit. If one of them was wrong" in gonode(*command).out
    assert "1 of 8 games replayed and 1 before" in gonode(*command).out
    assert "8 of 8 games replayed, bit for bit.\n" in gonode(*command, "--full", "--again").out
    assert "6 of 8 games replayed and 2 before, bit for bit.\n" in gonode(*command, "--full").out


def test_what_is_refused(server: Server, tmp_path: Path) -> None:
    assert "--dir DIR, --ticket TICKET or --url URL" in gonode("audit").refusal()
    assert "not the URL of a folder" in gonode("audit", "--url", "ftp://host/").refusal()
    assert "no run is shown here" in gonode("audit", "--url", server.url + "none").refusal()
    assert "neither a ticket" in gonode("audit", "--url", server.url, "--ticket", "x").refusal()
    create_key(Home(tmp_path).key("coordinator"), secret(0))
    assert "a node lives here" in gonode("audit", "--url", server.url, "--dir", tmp_path).refusal()
    assert "coordinator's key lies here" in gonode("audit", "--ticket", TICKET, "--dir", tmp_path).refusal()
    assert "coordinator's key lies here" in gonode("mirror", TICKET, tmp_path).refusal()
    assert "A ticket is needed" in gonode("mirror").refusal()
    assert "Missing argument" in gonode("mirror", TICKET).refusal()
    assert "neither a ticket" in gonode("mirror", "x", tmp_path).refusal()


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("node.audits.http_files.AGAIN_S", 0.01)
    monkeypatch.setattr("node.mirror.FIND_WITHIN_S", 0.5)
    assert "cannot be reached: Connection refused" in gonode("audit", "--url", "http://127.0.0.1:9/").refusal(3)
    assert "No peer of this run showed a cosigned log" in gonode("audit", "--ticket", TICKET).refusal(3)
    answer = gonode("mirror", TICKET, tmp_path, "--once", "--listen", "none", "--no-lan", "--json")
    assert answer.status == 3
    assert "No peer of this run showed a cosigned log" in answer.err
    assert {json.loads(line)["role"] for line in answer.out.splitlines()} == {"mirror"}


# ---- progress


class Terminal(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


def test_lines_come_each_ten_seconds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    monkeypatch.setattr(audit_screen.time, "monotonic", lambda: now)
    screen = Lines()
    for number in range(100):
        now += 0.25
        screen.hear(Progress("files", "files", number, 100))
    screen.clear()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines] == ["files: 39 of 100 files", "files: 79 of 100 files"]


def test_a_bar_comes_for_what_takes_long_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, now = Terminal(), 100.0
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(audit_screen.time, "monotonic", lambda: now)
    screen = Bar()
    screen.hear(Progress("head", "entries", 1, 9))
    screen.clear()
    assert terminal.getvalue() == ""
    for number in range(9):
        now += 0.2
        screen.hear(Progress("games", "games", number, 9))
    assert screen._bar is not None
    screen.clear()
    assert screen._bar is None
    assert "games: 8 of 9 games" in terminal.getvalue()


def test_words() -> None:
    assert words(Progress("head", "entries", 1234, 1000000)) == "head: 1,234 of 1,000,000 entries"
