"""`gonode report` as docs/commands.md has it: files, JSON, exit statuses."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from node.disk.home import Home
from tests.node.cli.gonode import gonode
from tests.node.homes import grown_world, make_home

PAGE = Path("docs/commands.md").read_text(encoding="utf-8").split("\n## gonode report\n")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A coordinator's directory; look only."""
    return make_home(grown_world(), tmp_path_factory.mktemp("run") / "coordinator")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keys_of(value: Any) -> set[str]:
    match value:
        case dict():
            return set(value).union(*map(keys_of, value.values()))
        case list():
            return set().union(*map(keys_of, value))
        case _:
            return set()


def test_json(home: Home, here: Path) -> None:
    answer = gonode("report", "--dir", home.directory, "--json")
    assert (answer.status, answer.err, answer.out.count("\n")) == (0, "", 1)
    found = json.loads(answer.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert keys_of(found) <= set(re.findall(r"`([a-z0-9_]+)`", PAGE)), "docs/commands.md lacks keys"
    assert len(found["cycles"]) == 2
    assert [cycle["name"] for cycle in found["cycles"]] == found["releases"][1:]
    assert list(here.iterdir()) == []
    assert gonode("report", "--dir", home.directory, "--json") == answer


def test_a_page_is_the_default(home: Home, here: Path) -> None:
    answer = gonode("report", "--dir", home.directory)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("report.html: 12 charts. Run ")
    assert "5 were opened" in answer.out
    assert (here / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in here.iterdir()] == ["report.html"]


def test_a_picture_and_json_at_once(home: Home, here: Path) -> None:
    answer = gonode("report", "--dir", home.directory, "--json", "--out", "new/run.PNG", "--batches", 1)
    assert answer.status == 0
    assert json.loads(answer.out)["sample"] == {"accepted": 5, "read": 2, "missing": 0}
    assert answer.err.startswith("new/run.PNG: 12 charts. ")
    assert (here / "new" / "run.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["report", "report.pdf", "report.html.txt", ""])
def test_other_files_are_refused(name: str, home: Home, here: Path) -> None:
    gonode("report", "--dir", home.directory, "--out", name).refusal()
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("options", [["--batches", "-1"], ["--batches", "x"], ["x"], ["--out"]], ids=" ".join)
def test_wrong_use(options: list[str], home: Home) -> None:
    gonode("report", "--dir", home.directory, *options).refusal()


def test_where_nothing_is(here: Path) -> None:
    assert "no run is here" in gonode("report", "--dir", here / "nowhere").refusal()
    (here / "file").write_text("x")
    gonode("report", "--dir", here / "file").refusal()


def test_a_folder_that_takes_no_file(home: Home, here: Path) -> None:
    (here / "report.html").mkdir()
    gonode("report", "--dir", home.directory).refusal()
    (here / "plain").write_text("x")
    gonode("report", "--dir", home.directory, "--out", "plain/report.html").refusal()


def test_without_matplotlib(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "gonode[report]" in gonode("report", "--dir", home.directory).refusal()
    assert gonode("report", "--dir", home.directory, "--json").status == 0
