"""Writes all vector files: `python -m tests.vectors.generate`. Running it again changes no byte."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent


def modules() -> list[ModuleType]:
    """All modules that define formats and scenarios."""
    return [importlib.import_module(f"tests.vectors.{path.stem}") for path in sorted(FOLDER.glob("scenarios_*.py"))]


def files() -> Iterator[tuple[str, str]]:
    """(path below this folder, text) of each vector."""
    for module in modules():
        for scenario in module.SCENARIOS:
            yield f"{scenario.format}/{scenario.name}.json", scenario.file(module.RUNNERS[scenario.format])


def main() -> None:
    """Writes the files and names those that no scenario makes any more."""
    made = dict(files())
    for name, text in made.items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    formats = {name.split("/")[0] for name in made}
    stale = [path for name in sorted(formats) for path in sorted((FOLDER / name).glob("*.json"))]
    for path in stale:
        if path.relative_to(FOLDER).as_posix() not in made:
            print(f"no scenario makes {path.relative_to(FOLDER)}")
    print(f"{len(made)} vectors of {len(formats)} formats")


if __name__ == "__main__":
    main()
