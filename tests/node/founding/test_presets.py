"""Presets: each alone and any two together give a run that can be played, and the later one wins."""

import re
import tomllib
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from node.founding.layers import Choices
from node.founding.manifest_file import default_table, load_manifest
from node.founding.preset import preset_names, preset_text
from protocol.manifest import Manifest
from verification.power import can_pass

NAMES = preset_names()

BOARDS = {"7x7": {7}, "9x9": {9}, "13x13": {13}, "19x19": {19}, "curriculum": {7, 9, 13, 19}}
SHAPES = {"tiny": "b3c32", "small": "b4c64", "medium": "b6c96", "large": "b10c128"}
OTHERS = {
    *("fast", "cooling", "few-visits", "many-visits", "gumbel"),
    *("quick-gates", "no-gates", "two-cores", "invited"),
}


passes = cache(can_pass)


@cache
def with_presets(*names: str) -> Manifest:
    return load_manifest(None, Choices(presets=names))


def keys_of(table: dict[str, Any], where: str = "") -> set[str]:
    """The dotted keys of all values."""
    found: set[str] = set()
    for key, value in table.items():
        found |= keys_of(value, f"{where}{key}.") if isinstance(value, dict) else {where + key}
    return found


def test_these_are_there() -> None:
    assert set(NAMES) == {*BOARDS, *SHAPES, *OTHERS}


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_alone(name: str) -> None:
    manifest = with_presets(name)
    assert Manifest.parse(manifest.encode()) == manifest
    assert passes(manifest.gate)
    assert name == "medium" or manifest != load_manifest(None)  # the default run's network is of that size
    assert re.match(r"# .+\.\n", preset_text(name)), "its first line says what it is about"


@pytest.mark.parametrize("first", NAMES)
def test_two_presets(first: str) -> None:
    """Any two, in both orders: playable, and what only one of them says holds in both."""
    alone = {name: tomllib.loads(preset_text(name)) for name in NAMES}
    for second in NAMES:
        manifest = with_presets(first, second)
        assert passes(manifest.gate)
        if not keys_of(alone[first]) & keys_of(alone[second]):
            assert manifest == with_presets(second, first)


@pytest.mark.parametrize("name", BOARDS)
def test_boards(name: str) -> None:
    manifest = with_presets(name)
    assert {board.size for stage in manifest.stages for board in stage.boards} == BOARDS[name]
    assert {opening.size for opening in manifest.openings} <= BOARDS[name]


def test_the_curriculum_only_adds_boards() -> None:
    stages = with_presets("curriculum").stages
    sizes = [{board.size for board in stage.boards} for stage in stages]
    assert sizes == [{7}, {7, 9}, {7, 9, 13}, {7, 9, 13, 19}]


@pytest.mark.parametrize("name", SHAPES)
def test_networks(name: str) -> None:
    assert with_presets(name).network.shape == SHAPES[name]


def test_the_later_preset_wins() -> None:
    for first, second in permutations(BOARDS, 2):
        assert with_presets(first, second).stages == with_presets(second).stages
    for first, second in permutations(SHAPES, 2):
        assert with_presets(first, second).network == with_presets(second).network


@pytest.mark.parametrize("group", [{*BOARDS}, {*SHAPES}], ids=["boards", "networks"])
def test_one_concern_a_preset(group: set[str]) -> None:
    """What boards or networks set, nothing else does (but how long opening moves are drawn from, and by which search)."""
    own = set().union(*(keys_of(tomllib.loads(preset_text(name))) for name in group))
    for name in set(NAMES) - group:
        assert not own & keys_of(tomllib.loads(preset_text(name))), name


def test_every_preset_speaks_of_known_keys() -> None:
    known = keys_of(default_table())
    for name in NAMES:
        assert keys_of(tomllib.loads(preset_text(name))) <= known


def test_the_page_names_them_all() -> None:
    page = Path("docs/commands.md").read_text(encoding="utf-8").split("### Presets and settings")[1].split("\n## ")[0]
    assert all(f"`{name}`" in page for name in NAMES)
