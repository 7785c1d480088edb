"""Reads a run's TOML file into a manifest.

People write plain numbers (`cpuct = 1.1`, `replay = 0.25`, `komi = 8.5`); the signed manifest holds fixed-point integers
whose scale is in the field's name (`cpuct_micro`, `replay_ppm`, `komi_half`). A file says only what differs from
`default_run.toml` and from the presets that it lies on (`layers`); what is listed may leave out fields that have a default.
Anything unknown, missing or unfit ends in one ManifestFileError sentence that names the key; so does a run whose games the
engine cannot play.
"""

import math
import tomllib
from dataclasses import MISSING, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from node.founding.layers import NO_CHOICES, Choices, LayerError, Table, lay_file
from protocol.errors import ProtocolError
from protocol.manifest import Manifest, Opening
from protocol.openings import two_move_openings
from protocol.record import Record
from protocol.types import ZERO, Range
from verification.faults import LogFault
from verification.gate import check_policy
from verification.setup import check_playable

SCALES = {"_micro": 10**6, "_ppm": 10**6, "_milli": 1000, "_half": 2}
KINDS = ("empty", "two-moves")

R = TypeVar("R", bound=Record)


class ManifestFileError(ValueError):
    """One sentence about what is wrong in a run's file."""


def load_manifest(path: Path | None, choices: Choices = NO_CHOICES) -> Manifest:
    """Version 1 of a run's manifest from its file, or the default run's when `path` is None, with `choices` on top."""
    return load_run(path, choices)[1]


def load_run(path: Path | None, choices: Choices = NO_CHOICES) -> tuple[Table, Manifest]:
    """The complete table of a run, as people write it, and the manifest that it gives; raises ManifestFileError."""
    table = default_table()
    try:
        table = choices.lay_over(table if path is None else lay_file(table, path))
    except LayerError as error:
        raise ManifestFileError(str(error)) from None
    try:
        return table, parse_manifest(table)
    except (ManifestFileError, ProtocolError, LogFault) as error:
        raise ManifestFileError(f"{choices.describe(str(path or 'default run'))}: {error}") from None


def default_table() -> Table:
    """The default run as a table."""
    return tomllib.loads(resources.files("node.founding").joinpath("default_run.toml").read_text(encoding="utf-8"))


def parse_manifest(table: Table) -> Manifest:
    """The manifest of a complete table, which can be played; raises ManifestFileError, ProtocolError or LogFault."""
    table = dict(table)
    kind = table.pop("openings", {})
    stages = _value(get_type_hints(Manifest, include_extras=True)["stages"], table.get("stages"), None, "stages")
    table["stages"] = stages
    table["openings"] = _openings(kind, sorted({board.size for stage in stages for board in stage.boards}))
    manifest = _record(Manifest, table | {"run": ZERO, "version": 1}, "")
    manifest.encode()  # raises where it is too large for a log entry
    check_playable(manifest)
    check_policy(manifest.gate)
    return manifest


def table_of_manifest(manifest: Manifest) -> Table:
    """A whole manifest as people write it, openings by their kind; raises ManifestFileError where they have none."""
    table = table_of(replace(manifest, openings=()))
    del table["run"], table["version"]
    kind = openings_kind(manifest)
    if kind is None:
        raise ManifestFileError(
            'The manifest\'s openings are neither "empty" nor "two-moves", so no file can say them.'
        )
    return table | {"openings": {"kind": kind}}


def openings_kind(manifest: Manifest) -> str | None:
    """How people name a manifest's openings; None where they have no name."""
    sizes = sorted({board.size for stage in manifest.stages for board in stage.boards})
    return next((kind for kind in KINDS if manifest.openings == _openings({"kind": kind}, sizes)), None)


def _openings(table: Any, sizes: list[int]) -> tuple[Opening, ...]:
    kind = table.get("kind") if isinstance(table, dict) and table.keys() == {"kind"} else None
    if kind == "empty":
        return ()
    if kind == "two-moves":
        return tuple(opening for size in sizes for opening in (Opening(size, (), 1, 0), *two_move_openings(size)))
    raise ManifestFileError('openings.kind must be "empty" or "two-moves".')


def parse_part(cls: type[R], table: Table, where: str) -> R:
    """The record of one table of a run, such as `training`; raises ManifestFileError."""
    return _record(cls, table, f"{where}.")


def table_of(record: Record) -> Table:
    """A record as people write it: the table that gives it again. Not for openings, which people name by their kind."""
    table: Table = {}
    for field in fields(record):  # type: ignore[arg-type]
        suffix = _suffix(field.name)
        table[field.name.removesuffix(suffix)] = _written(getattr(record, field.name), SCALES.get(suffix))
    return table


def _written(value: Any, scale: int | None) -> Any:
    if scale is not None:
        return value // scale if value % scale == 0 else value / scale
    if isinstance(value, tuple):
        return [_written(item, None) for item in value]
    return table_of(value) if isinstance(value, Record) else value


def _suffix(name: str) -> str:
    return next((suffix for suffix in SCALES if name.endswith(suffix)), "")


def _record(cls: type[R], table: Any, where: str) -> R:
    if not isinstance(table, dict):
        raise ManifestFileError(f"{where.rstrip('.')} must be a table.")
    hints = get_type_hints(cls, include_extras=True)
    values: Table = {}
    known: set[str] = set()
    for field in fields(cls):  # type: ignore[arg-type]
        suffix = _suffix(field.name)
        key = field.name.removesuffix(suffix)
        known.add(key)
        if key not in table and field.default is not MISSING:
            values[field.name] = field.default
            continue
        if key not in table:
            raise ManifestFileError(f"{where}{key} is missing.")
        values[field.name] = _value(hints[field.name], table[key], SCALES.get(suffix), f"{where}{key}")
    for key in table:
        if key not in known:
            raise ManifestFileError(f"{where}{key} is not a key of a run's file.")
    try:
        return cls(**values)
    except ProtocolError as error:
        raise ManifestFileError(f"{where.rstrip('.')}: {error}" if where else str(error)) from None


def _value(hint: Any, value: Any, scale: int | None, where: str) -> Any:
    if scale is not None:
        return _scaled(hint, value, scale, where)
    if get_origin(hint) is tuple:
        if isinstance(value, tuple):  # made here already
            return value
        if not isinstance(value, list):
            raise ManifestFileError(f"{where} must be a list.")
        item = get_args(hint)[0]
        return tuple(_value(item, element, None, f"{where}[{index}]") for index, element in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, Record):
        return _record(hint, value, f"{where}.")
    return value


def _scaled(hint: Any, value: Any, scale: int, where: str) -> int:
    """The fixed-point integer of a plain number, refused in the units in which people write it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise ManifestFileError(f"{where} must be a number.")
    limits = next(each for each in get_args(hint) if isinstance(each, Range))
    if not limits.low <= value * scale <= limits.high:
        raise ManifestFileError(f"{where} must be from {limits.low / scale:g} to {limits.high / scale:g}.")
    scaled = round(value * scale)
    if scale == SCALES["_half"] and scaled != value * scale:
        raise ManifestFileError(f"{where} must be a whole or half number.")
    return int(scaled)
