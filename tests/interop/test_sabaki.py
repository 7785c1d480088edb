"""Sabaki's own packages, and its way of keeping an engine at a node, against `gonode gtp` as a process (docs/gtp.md)."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.interop.javascript import HERE, WITHIN_S, install
from tests.node.play.players import network_file

SABAKI = HERE / "sabaki"
INSTALLED = HERE.parents[1] / "build" / "sabaki"
LEAFED_MS = 10_000
"""For eleven nodes, analysed one after the other; a twentieth of that is usual."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a session of Sabaki's found."""
    install(SABAKI, INSTALLED)
    folder = tmp_path_factory.mktemp("sabaki")
    engine = [sys.executable, "-m", "node", "gtp", network_file(folder), "--dir", folder / "none", "--visits", 32]
    command = ["node", "session.js", "./syncer.js", *map(str, engine)]
    done = subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_imports_its_packages_only() -> None:
    named = set(json.loads((SABAKI / "package.json").read_text(encoding="utf-8"))["dependencies"])
    for path in SABAKI.glob("*.js"):
        for name in re.findall(r"^import .*?'([^']+)'", path.read_text(encoding="utf-8"), re.M):
            assert name in named or (SABAKI / name).parent == SABAKI
    lock = (SABAKI / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in lock
    assert lock.count('"integrity"') >= len(named)


def test_it_attaches_and_detaches(found: Any) -> None:
    name, version, protocol, commands = found["attached"]
    assert (name, protocol) == ("gonode", "2")
    assert version.endswith("small.net")
    assert {"kata-analyze", "kata-genmove_analyze", "set_free_handicap", "undo"} <= set(commands.split("\n"))
    with pytest.raises(ProcessLookupError):
        os.kill(found["process"], 0)


def test_the_engine_stands_where_sabaki_does(found: Any) -> None:
    """Handicap, passes, variations, setups in the middle and stones that were taken: forth, back and across."""
    assert len(found["boards"]) > 30
    for each in found["boards"]:
        wanted = ["".join(".XO"[sign] for sign in row) for row in each["wanted"]]
        rows = re.findall(r"^ *\d+ ((?:[.XO] ){9})\d+$", each["shown"], re.M)
        assert [row.replace(" ", "") for row in rows] == wanted, each
    assert found["failed"] == []
    assert {"set_free_handicap", "play", "undo", "clear_board", "boardsize", "komi"} <= set(found["sent"])


@pytest.mark.parametrize("name", ["kata-analyze", "lz-analyze"])
def test_it_reads_every_variation(found: Any, name: str) -> None:
    analysis = found["analyses"][name]
    assert not analysis["error"]
    assert len(analysis["lines"]) >= 2
    visits = []
    for told in analysis["lines"]:
        assert told["name"] == name
        variations = told["variations"]
        assert len(variations) == len(re.findall(r"info move [A-J]\d", told["line"])) > 0
        for each in variations:
            assert 0 < each["winrate"] < 100
            assert each["visits"] >= 1
            assert each["moves"][0] == each["vertex"]
            assert (each["scoreLead"] is None) == (name == "lz-analyze")
        visits.append(sum(each["visits"] for each in variations))
    assert visits == sorted(visits)


def test_leafing_through_an_analysed_game(found: Any) -> None:
    assert not any(found["leafed"]["errors"])
    assert found["leafed"]["ms"] < LEAFED_MS


def test_its_moves_are_where_sabaki_thinks(found: Any) -> None:
    for move in found["moves"]:
        assert not move["error"]
        coord = move["content"].split()[-1].upper()
        assert move["history"] == {"name": "play", "args": ["W", coord]}
        assert any(line.startswith("info ") for line in move["lines"]) == (move["name"] != "genmove")
