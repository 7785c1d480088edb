"""Matches against GNU Go itself, where it is installed (`apt install gnugo`): few games on small boards, at level 1."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from node.disk.home import Home
from node.exchange.sgf_reader import parse_record
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home

GNUGO = shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games")
RULES = "--chinese-rules --capture-all-dead --positional-superko --allow-suicide"

pytestmark = pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed (apt install gnugo)")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


def engine(*options: str) -> str:
    return f"gtp:gnugo-1={GNUGO} --mode gtp --level 1 {RULES} {' '.join(options)}"


def played(home: Home, *words: object) -> dict[str, Any]:
    answer = gonode("match", *words, "--dir", home.directory, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert isinstance(found, dict)
    return found


def test_it_beats_random_moves(home: Home, tmp_path: Path) -> None:
    found = played(home, engine(), "random", "--size", 7, "--komi", 6.5, "--games", 4, "--sgf", tmp_path)
    assert (found["wins"], found["forfeits"]) == (4, [])
    records = [parse_record(path.read_bytes()) for path in sorted(tmp_path.iterdir())]
    assert [record.black for record in records] == ["gnugo-1", "random"] * 2
    assert all(len(record.moves) > 8 for record in records)


def test_it_plays_a_networks_file_and_anchors_it(home: Home, tmp_path: Path) -> None:
    """On 9x9, two games at once, each with its own process; then it is the anchor of the file's release."""
    world = grown_world()
    path, record = tmp_path / "network.bin", tmp_path / "match.jsonl"
    path.write_bytes(world.networks[world.state.release.network])
    options = ("--size", 9, "--komi", 7, "--games", 4, "--threads", 2, "--record", record)
    found = played(home, path, engine(), *options)
    assert (found["games"], found["forfeits"], found["players"]) == (4, [], ["network.bin", "gnugo-1"])
    assert found["losses"] == 4, "it has learned next to nothing"
    rated = gonode("ratings", "--dir", home.directory, "--matches", record, "--anchor", "gnugo-1=900", "--json")
    players = {each["name"]: each for each in json.loads(rated.out)["players"]}
    assert players["gnugo-1"]["elo"] == 900
    assert players[world.state.release.name]["elo"] < 800
    assert json.loads(rated.out)["sentence"] is None


def test_a_board_that_it_does_not_play(home: Home) -> None:
    refused = gonode("match", engine("--boardsize x"), "random", "--dir", home.directory).refusal()
    assert refused.startswith(
        "The engine 'gnugo-1' ended (status 1) before it answered name; it said: Unsupported board size"
    )


def test_a_command_that_is_no_gtp(home: Home) -> None:
    """GNU Go in its ASCII mode: its welcome is no answer, and nobody waits for one."""
    refused = gonode("match", f"gtp:{GNUGO} --mode ascii", "random", "--dir", home.directory).refusal()
    assert "answered name with what is not GTP" in refused
