"""The words of a command line anew, from what a command's parser reads of them: flags in full, paths absolute.

So that they mean the same where they are typed in another folder, as in a unit of systemd.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click


def whole_words(context: click.Context, arguments: Sequence[str]) -> list[str]:
    """What stands behind the command of `context`, flags first; raises click.UsageError for what it does not take."""
    command = context.command
    values, rest, _ = command.make_parser(context).parse_args(list(arguments))
    if rest:
        raise click.UsageError(f"{context.command_path} does not take {rest[0]!r}.")
    flags: list[str] = []
    last: list[str] = []
    for parameter in command.params:
        value = values.get(str(parameter.name))
        if isinstance(parameter, click.Option):
            flags += _flag(parameter, value)
        else:
            last += [_absolute(parameter, word) for word in _texts(value)]
    return flags + last


def _flag(option: click.Option, value: Any) -> list[str]:
    name = option.opts[-1]
    if option.is_flag:
        return (
            [name] if value is True else [option.secondary_opts[0]] if value is False and option.secondary_opts else []
        )
    return [word for text in _texts(value) for word in (name, _absolute(option, text))]


def _texts(value: Any) -> list[str]:
    """The texts that the parser read; none of what marks that there was nothing."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _absolute(parameter: click.Parameter, text: str) -> str:
    """A path from the root; a text that may be a file's name, such as a ticket, too, where such a file is there."""
    if isinstance(parameter.type, click.Path):
        return str(Path(text).absolute())
    if parameter.name != "ticket" and "FILE" not in (parameter.metavar or ""):
        return text
    try:
        return str(Path(text).absolute()) if Path(text).is_file() else text
    except (OSError, ValueError):  # a ticket is longer than a name may be
        return text
