"""Which values a command gets that are no flags: those of the environment, else of the file, else its defaults.

Spec: `docs/commands.md` ("Settings"). Invariants: all of them are judged before the command runs; nodes that `gonode local`
starts read no file.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from node.cli.setting import Setting, settings_of
from node.cli.settings_file import OF_NODES, SettingsFile, context_of, file_for, judge

HELP = frozenset({"-h", "--help"})


@dataclass(frozen=True, slots=True)
class Given:
    """A setting's value before it is judged, as `source` (environment, file or default) gives it.

    `origin` is the variable or the file, None for a default.
    """

    value: Any
    source: str
    origin: str | None


def given_values(
    context: click.Context, words: Sequence[str], command: click.Command, directory: Path | None
) -> dict[Setting, Given]:
    """What a command would take that is called without flags, in a node's directory; raises SettingsFault."""
    path = file_for(words[0], directory)
    kept = SettingsFile.load(path).values(context, words, command) if path is not None else {}
    own = context_of(context, words, command)
    found = {}
    for setting in settings_of(words, command):
        value = setting.parameter.value_from_envvar(own)
        if value is not None:
            judge(setting, value, setting.variable, own)
            found[setting] = Given(value, "environment", setting.variable)
        elif setting.name in kept:
            found[setting] = Given(kept[setting.name], "file", str(path))
        else:
            found[setting] = Given(setting.parameter.to_info_dict()["default"], "default", None)
    return found


def apply_settings(context: click.Context, name: str, command: click.Command, arguments: list[str]) -> None:
    """Judges what the environment says for the command that is about to run, and gives click what the file says.

    `context` is that of the group in which `name` is `command`. Raises SettingsFault.
    """
    words, command, arguments = _leaf(context, name, command, arguments)
    settings = settings_of(words, command)
    if not settings or HELP.intersection(arguments):
        return
    own = context_of(context, words, command)
    for setting in settings:
        value = setting.parameter.value_from_envvar(own)
        if value is not None:
            judge(setting, value, setting.variable, own)
    path = file_for(words[0], _directory(own, command, arguments))
    if path is None or _is_supervised(words[0]):
        return
    given = SettingsFile.load(path).values(context, words, command)
    default_map: dict[str, Any] = {
        setting.parameter.name: given[setting.name]
        for setting in settings
        if setting.name in given and setting.parameter.name is not None
    }
    for word in reversed(words):
        default_map = {word: default_map}
    context.default_map = default_map


def _leaf(
    context: click.Context, name: str, command: click.Command, arguments: list[str]
) -> tuple[tuple[str, ...], click.Command, list[str]]:
    """The command inside groups that the arguments mean, the words that name it, and what follows them."""
    words: tuple[str, ...] = (name,)
    while isinstance(command, click.Group):
        inner = command.get_command(context, arguments[0]) if arguments else None
        if inner is None:
            break
        words, command, arguments = (*words, arguments[0]), inner, arguments[1:]
    return words, command, arguments


def _is_supervised(command: str) -> bool:
    if command not in OF_NODES:
        return False
    from node.lifetime import SUPERVISOR_VARIABLE

    return SUPERVISOR_VARIABLE in os.environ


def _directory(context: click.Context, command: click.Command, arguments: list[str]) -> Path | None:
    """The directory that the command line or the environment names."""
    parsed, _, _ = command.make_parser(context).parse_args(list(arguments))
    found = parsed.get("directory")
    if not isinstance(found, str):
        option = next((each for each in command.params if each.name == "directory"), None)
        found = None if option is None else option.value_from_envvar(context)
    return Path(found) if isinstance(found, str) else None
