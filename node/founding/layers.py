"""The layers of a run's table: the default run, presets, the run's file, more presets and single settings; later wins.

Tables merge key by key, lists and values are replaced. Only keys of the default run exist. Whatever does not fit is one
sentence in LayerError that names the layer. Nothing here knows what a value means: `manifest_file` does.
"""

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node.founding.preset import PRESETS_KEY, preset_text

MAX_BYTES = 1 << 20

Table = dict[str, Any]


class LayerError(ValueError):
    """One sentence about a layer that cannot be laid."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a command line adds to a run's file: presets by name, then settings as `KEY=VALUE`, in their order."""

    presets: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def lay_over(self, table: Table) -> Table:
        """A run's table, or a part of one, with these on top; raises LayerError."""
        table = lay_presets(table, self.presets)
        for text in self.settings:
            with _label(f"--set {text[:80]}"):
                table = overlay(table, setting(table, text))
        return table

    def describe(self, base: str) -> str:
        """`base` and what lies on it, for the sentence about a run that is not whole."""
        presets = [f"preset {name}" for name in self.presets]
        return ", ".join([base, *presets, *(f"--set {text[:80]}" for text in self.settings)])


NO_CHOICES = Choices()


def lay_presets(table: Table, names: Sequence[str]) -> Table:
    """A run's table with presets on top, in their order; raises LayerError.

    Of a part of a run's table: with what they say about that part, which must be something.
    """
    for name in names:
        try:
            preset = tomllib.loads(preset_text(name))
        except KeyError as error:
            raise LayerError(str(error.args[0])) from None
        own = {key: value for key, value in preset.items() if key in table}
        if not own:
            raise LayerError(f"preset {name}: it says nothing about {', '.join(table)}.")
        with _label(f"preset {name}"):
            table = overlay(table, own)
    return table


def lay_file(table: Table, path: Path) -> Table:
    """A table with a run's file on top, and below the file the presets that it names; raises LayerError."""
    with _label(str(path)):
        own = read_table(path)
        names = own.pop(PRESETS_KEY, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise LayerError(f"{PRESETS_KEY} must be a list of names.")
        return overlay(lay_presets(table, names), own)


def read_table(path: Path) -> Table:
    """The table in a TOML file; raises LayerError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LayerError(f"cannot be read ({error.strerror}).") from None
    if len(data) > MAX_BYTES:
        raise LayerError(f"a run's file has at most {MAX_BYTES} bytes.")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise LayerError("its values are nested too deeply.") from None
    except ValueError as error:  # not UTF-8, not TOML, or a number that cannot be read
        raise LayerError(f"not a TOML file ({error}).") from None


def overlay(base: Table, own: Table, where: str = "") -> Table:
    """`base` with `own` on top; raises LayerError for a key that `base` does not have, or a table against a value."""
    merged = dict(base)
    for key, value in own.items():
        if key not in base:
            raise LayerError(f"{where}{key} is not a key of a run's file.")
        if isinstance(base[key], dict):
            if not isinstance(value, dict):
                raise LayerError(f"{where}{key} must be a table.")
            merged[key] = overlay(base[key], value, f"{where}{key}.")
        else:
            merged[key] = value
    return merged


def setting(base: Table, text: str) -> Table:
    """The layer of one `KEY=VALUE`: a dotted key of `base`, and a TOML value; text needs no quotes where text stands.

    Raises LayerError.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise LayerError("a setting is written KEY=VALUE.")
    parts = key.strip().split(".")
    here: Any = base
    for depth, part in enumerate(parts):
        if not isinstance(here, dict) or part not in here:
            raise LayerError(_unknown(parts, depth, here))
        here = here[part]
    found: Any = _value_of(value.strip(), is_text=isinstance(here, str))
    for part in reversed(parts):
        found = {part: found}
    assert isinstance(found, dict)
    return found


def _unknown(parts: Sequence[str], depth: int, here: Any) -> str:
    above, name = ".".join(parts[:depth]), ".".join(parts[: depth + 1])[:80]
    if not isinstance(here, dict):
        return f"{above} holds no keys; give it a whole TOML value."
    return f"There is no key {name} here; {above or 'the top'} has {', '.join(here)}."


def _value_of(text: str, *, is_text: bool) -> Any:
    if is_text and not text.startswith(('"', "'")):
        return text
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        found = {}
    if found.keys() != {"value"}:
        raise LayerError(f"{text[:40]!r} is not a number, true, false, or a list, table or quoted text as in TOML.")
    return found["value"]


@contextmanager
def _label(layer: str) -> Iterator[None]:
    """Puts the layer's name before the sentence about it."""
    try:
        yield
    except LayerError as error:
        raise LayerError(f"{layer}: {error}") from None
