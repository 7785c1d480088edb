"""Python files where the user stands, as in a copy that somebody else made, are run by no process that a node starts."""

import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from node.audits.retraining import compared
from node.local import LocalNetwork, LocalOptions
from node.training.errors import TrainingFailed
from node.training.trainer_process import train
from trainer.data.crew import Crew
from verification.audit.repetition import Unrepeatable

NAMES = ("json", "struct", "pickle", "pathlib", "typing", "numpy", "torch", "click", "trainer", "native", "node")


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a planted module says that it ran; the user stands beside them."""
    ran, folder = tmp_path / "ran", tmp_path / "copy"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write('{name} ')\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return ran


async def _nobody(event: dict[str, Any]) -> None:
    """Hears nothing."""


def test_comparing_runs_nothing_from_there(ran: Path) -> None:
    with pytest.raises(Unrepeatable, match="comparing failed"):
        compared(ran.with_name("no-job.json"), ran.parent)
    assert not ran.exists()


async def test_the_trainer_runs_nothing_from_there(ran: Path) -> None:
    with trio.fail_after(60), pytest.raises(TrainingFailed, match=r"no-job\.json"):
        await train(ran.with_name("no-job.json"), _nobody)
    assert not ran.exists()


def test_data_workers_run_nothing_from_there(ran: Path) -> None:
    with Crew(len, 1, pytest.fail, ahead=1) as crew:
        assert list(crew.map(["one", "three"])) == [3, 5]
    assert not ran.exists()


def test_roles_run_nothing_from_there(ran: Path, tmp_path: Path) -> None:
    options = LocalOptions(tmp_path / "run", None, 1, 1, 1.0, 0.0, None, None)
    children = LocalNetwork(options, lambda name, line: None).children
    assert {tuple(child.command[:4]) for child in children} == {(sys.executable, "-P", "-m", "node")}

    async def started() -> None:
        shown = await trio.run_process([*children[0].command[:4], "--version"], capture_stdout=True)
        assert shown.stdout

    trio.run(started)
    assert not ran.exists()
