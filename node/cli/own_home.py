"""Which node a command means that looks at one which is there, when it is called without `--dir`: `find_home`.

Spec: `docs/commands.md` ("gonode status", "gonode doctor"). It is the node of `gonode join`, wherever its settings put it,
else the one below `~/.gonode`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from node.cli.given import given_values
from node.cli.setting import settings_of
from node.cli.settings_file import context_of, judge

if TYPE_CHECKING:
    from node.disk.home import Home

RUNS: Final = "control.sock"
"""A file in the directory of a node that runs."""

IS_THERE: Final = "ticket"
"""A file in the directory of any node."""


def find_home(root: click.Context, directory: Path | None, marks: Sequence[str]) -> "Home | None":
    """The directory that is given, else `join.dir` of the settings, else `home_below`, which see.

    Raises click.UsageError, and SettingsFault for settings of `join` that cannot be used.
    """
    from node.disk.home import Home

    directory = directory or joined_directory(root)
    return home_below(marks) if directory is None else Home(directory)


def home_below(marks: Sequence[str]) -> "Home | None":
    """The one directory below ~/.gonode with the first of `marks` that any has; None where none has one.

    Raises click.UsageError when several have it.
    """
    from node.disk.home import HOMES, Home

    for mark in marks:
        found = sorted(path.parent for path in HOMES.expanduser().glob(f"*/{mark}"))
        if len(found) == 1:
            return Home(found[0])
        if found:
            names = ", ".join(path.name for path in found)
            if mark == RUNS:
                raise click.UsageError(f"Several nodes run below {HOMES} ({names}): say --dir DIR.")
            raise click.UsageError(f"Several nodes are below {HOMES} ({names}): say --dir DIR.")
    return None


def joined_directory(root: click.Context) -> Path | None:
    """Where `gonode join` called without `--dir` would put its node by the settings; None where they do not say.

    Raises SettingsFault.
    """
    words = ("join",)
    assert isinstance(root.command, click.Group)
    command = root.command.get_command(root, *words)
    assert command is not None
    (setting,) = (each for each in settings_of(words, command) if each.name == "dir")
    given = given_values(root, words, command, None)[setting]
    if given.value is None:
        return None
    found: Path = judge(setting, given.value, given.origin or setting.key, context_of(root, words, command))
    return found
