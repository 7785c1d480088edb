"""Which code `make check` has mypy look at."""

import tomllib
from pathlib import Path


def test_all_code_but_tests_is_typed() -> None:
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    code = {path.parts[0] for path in Path().glob("[a-z]*/*.py")} - {"tests", "build", "docs"}
    assert settings["strict"] is True
    assert set(settings["packages"]) == code >= {"benchmarks", "node"}
