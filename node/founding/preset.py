"""Presets: small TOML files in `presets/`, each about one concern of a run, which lie over one another in any order.

A preset's first line is a comment that says what it is about. Presets lie on the default run, and below or above a run's own
file (`layers`).
"""

from importlib import resources
from importlib.resources.abc import Traversable

PRESETS_KEY = "presets"
"""The key with which a run's file names the presets that it lies on."""

_SUFFIX = ".toml"


def preset_names() -> list[str]:
    """All names, sorted."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _folder().iterdir() if file.name.endswith(_SUFFIX))


def preset_text(name: str) -> str:
    """The TOML of a preset; raises KeyError with a sentence that lists the names."""
    names = preset_names()
    if name not in names:
        raise KeyError(f"{name[:80]!r} is not a preset; there are {', '.join(names)}.")
    return _folder().joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def _folder() -> Traversable:
    return resources.files("node.founding").joinpath("presets")
