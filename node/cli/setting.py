"""What can be set apart from flags: every option of every command, and the ticket, by a key of a file and by a variable.

Spec: `docs/commands.md` ("Settings"). Values and where they come from are click's: an option's `envvar`, a context's
`default_map`, `get_parameter_source`. Here is how they are called. A setting's name is its flag without dashes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

PREFIX = "GONODE"
NO_SETTINGS = frozenset({"config", "setup", "doctor", "service", "completion"})
"""Commands that look after settings or explain what is wrong with them, and take none themselves."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One option of the command that `words` name, or its ticket."""

    words: tuple[str, ...]
    parameter: click.Parameter

    @property
    def name(self) -> str:
        """The key in the command's table: the flag without dashes."""
        if isinstance(self.parameter, click.Option):
            return next(option for option in self.parameter.opts if option.startswith("--"))[2:]
        assert self.parameter.name is not None
        return self.parameter.name

    @property
    def key(self) -> str:
        """Such as `join.nice`."""
        return ".".join((*self.words, self.name))

    @property
    def variable(self) -> str:
        """The environment's variable, such as GONODE_JOIN_NICE."""
        return "_".join((PREFIX, *self.words, self.name)).upper().replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether the flag takes no value."""
        return isinstance(self.parameter, click.Option) and self.parameter.is_flag

    @property
    def is_list(self) -> bool:
        """Whether the flag may be repeated."""
        return isinstance(self.parameter, click.Option) and self.parameter.multiple


def settings_of(words: Sequence[str], command: click.Command) -> list[Setting]:
    """The settings of one command, as its help lists them."""
    if isinstance(command, click.Group) or words[0] in NO_SETTINGS:
        return []
    return [Setting(tuple(words), parameter) for parameter in command.params if _is_setting(parameter, command)]


def _is_setting(parameter: click.Parameter, command: click.Command) -> bool:
    """A ticket is one where nothing follows it; other arguments say what a command is about, each time."""
    if isinstance(parameter, click.Argument):
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        return parameter.name == "ticket" and arguments == [parameter]
    return parameter.expose_value


def name_variables(words: Sequence[str], command: click.Command) -> None:
    """Has click read the settings of `command`, and of the commands in it, from the environment."""
    for found, leaf in commands_in(words, command):
        for setting in settings_of(found, leaf):
            setting.parameter.envvar = setting.variable


def commands_in(words: Sequence[str], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """`command`, called by `words`, if it is no group, else the commands in it."""
    if not isinstance(command, click.Group):
        yield tuple(words), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands_in((*words, name), found)
