"""Changes values in a file of settings and leaves all the rest, comments too, as it stands.

Invariant: what is written reads back as what was there with those changes; else nothing is written.
"""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from node.cli.setting import Setting
from node.cli.settings_file import SettingsFault, SettingsFile, judge

if TYPE_CHECKING:
    from tomlkit.items import Table
    from tomlkit.toml_document import TOMLDocument

HEAD = "# Settings of gonode, a table for each command; `gonode config` shows them all.\n"


def change_settings(path: Path, changes: Sequence[tuple[Setting, Any]]) -> bool:
    """Writes values (text, number, truth, a list of texts; None takes one out) into the file, which is made if need be.

    Returns whether anything changed; raises SettingsFault.
    """
    import tomlkit

    if path.exists():
        before = SettingsFile.load(path).table
        document = tomlkit.parse(path.read_text(encoding="utf-8"))
    else:
        before, document = {}, tomlkit.parse(HEAD)
    after = deepcopy(before)
    for setting, value in changes:
        if value is None and not _is_set(setting, after):
            continue
        table, place = _places(path, setting, after, document)
        if value is not None:
            table[setting.name] = value
            place[setting.name] = value
        else:
            del table[setting.name], place[setting.name]
    if after == before:
        return False
    _write(path, document, after)
    return True


def typed(setting: Setting, value: str | list[str], origin: str, context: click.Context) -> Any:
    """What is typed for a setting as the file holds it: a number, a truth, a text or a list of texts.

    Raises SettingsFault that begins with `origin`; `context` is one of the setting's command.
    """
    judge(setting, value, origin, context)
    found = setting.parameter.type_cast_value(context, value)
    return found if isinstance(found, bool | int | float) else value


def _is_set(setting: Setting, table: Any) -> bool:
    for word in (*setting.words, setting.name):
        if not isinstance(table, dict) or word not in table:
            return False
        table = table[word]
    return True


def _places(
    path: Path, setting: Setting, table: dict[str, Any], document: "TOMLDocument"
) -> "tuple[dict[str, Any], TOMLDocument | Table]":
    """The table of the setting's command, as values and in the text; made where there is none."""
    import tomlkit

    place: TOMLDocument | Table = document
    for at, word in enumerate(setting.words):
        if word not in table:
            table[word], place[word] = {}, tomlkit.table(is_super_table=at + 1 < len(setting.words))
        if not isinstance(table[word], dict):
            raise SettingsFault(f"{path}: {word} is a command, so it needs a table: [{'.'.join(setting.words)}].")
        table, place = table[word], cast("Table", place[word])
    return table, place


def _write(path: Path, document: "TOMLDocument", expected: dict[str, Any]) -> None:
    import tomllib

    from node.disk.files import write_file

    text = document.as_string()
    try:
        is_right = tomllib.loads(text) == expected
    except ValueError:
        is_right = False
    if not is_right:
        raise SettingsFault(f"{path}: this file is laid out so that it cannot be changed here; change it by hand.")
    write_file(path, text.encode("utf-8"))
