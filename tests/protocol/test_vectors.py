"""Every vector of the formats in `tests/vectors/scenarios_*.py` has the outcome it claims, and a rerun changes none."""

import json
from pathlib import Path

import pytest

from tests.vectors import generate
from tests.vectors.scenario import Runner, run

RUNNERS: dict[str, Runner] = {name: runner for module in generate.modules() for name, runner in module.RUNNERS.items()}
FILES = [path for name in sorted(RUNNERS) for path in sorted((generate.FOLDER / name).glob("*.json"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_vector(path: Path) -> None:
    vector = json.loads(path.read_text(encoding="utf-8"))
    outcome, output = run(RUNNERS[path.parent.name], vector["input"])
    assert outcome == vector["expect"]
    assert output == vector.get("output")


def test_rerun_of_the_generator_changes_nothing() -> None:
    stored = {path.relative_to(generate.FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    assert dict(generate.files()) == stored
