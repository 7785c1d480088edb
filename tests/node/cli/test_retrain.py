"""`gonode audit --retrain` on the command line."""

import pytest

from node.disk.home import Home
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; its train states are nowhere."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


def test_the_extra_is_missing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.training.session.find_spec", lambda name: None)
    answer = gonode("audit", "--dir", home.directory, "--retrain").refusal()
    assert answer == "Training needs torch: install gonode with its extra, `gonode[train]`."


def test_a_record_that_counts_otherwise_fails_before_anything_is_trained(home: Home) -> None:
    """The world's train records are made up: no log gives a cycle of its few rows a hundred steps."""
    answer = gonode("audit", "--dir", home.directory, "--retrain", "--sample", 0)
    assert answer.status == 1
    line = next(line for line in answer.out.splitlines() if " retrain " in line)
    assert line.startswith("FAIL  retrain  The train record at entry ")
    assert "the log gives it" in line
