"""The file `gonode.toml`: which one counts, what it holds for a command, and what is wrong with it in one sentence.

Spec: `docs/commands.md` ("Settings"). Invariants: a value of the file is judged as if it were typed behind its flag; a
directory's file counts only for commands that run or ask the node that lives there, so that a directory which came from
others never says how it is audited or what is signed; nodes that `gonode local` starts read no file.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from node.cli.setting import Setting, settings_of

FILE_NAME = "gonode.toml"
USER_FOLDER = Path("~/.gonode")
MAX_BYTES = 1 << 20
HELP = frozenset({"-h", "--help"})
OF_NODES = frozenset(
    {"join", "verify", "relay", "mirror", "coordinate", "local", "status", "pause", "resume", "drain", "stop"}
)
"""The commands for which the file of a node's directory counts."""


class SettingsFault(click.ClickException):
    """One sentence about a settings file, or about a variable of the environment."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What one file holds, as TOML reads it."""

    path: Path
    table: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> "SettingsFile":
        """Reads a file; raises SettingsFault."""
        import tomllib

        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise SettingsFault(f"{path}: a file of settings has at most {MAX_BYTES} bytes.")
            return cls(path, tomllib.loads(data.decode("utf-8")))
        except OSError as error:
            raise SettingsFault(f"{path}: the settings cannot be read ({error.strerror}).") from None
        except (ValueError, RecursionError) as error:
            raise SettingsFault(f"{path}: this is no TOML: {error or 'it is nested too deeply'}.") from None

    def values(self, context: click.Context, words: Sequence[str], command: click.Command) -> dict[str, Any]:
        """What the file says for the command that `words` name below the group of `context`: values by setting's name.

        Raises SettingsFault for a name that is not there, here or in the tables on the way, and for a bad value.
        """
        table = self._table(context, words)
        settings = {setting.name: setting for setting in settings_of(words, command)}
        self._verify_names(table, settings, words)
        found = {}
        for name, value in table.items():
            setting = settings[name]
            found[name] = _typed(setting, value, f"{self.path}: {setting.key}")
            judge(setting, found[name], f"{self.path}: {setting.key}", context_of(context, words, command))
        return found

    def _table(self, context: click.Context, words: Sequence[str]) -> dict[str, Any]:
        group, table = context.command, self.table
        for at, word in enumerate(words):
            assert isinstance(group, click.Group)
            self._verify_names(table, group.list_commands(context), words[:at])
            found, inner = table.get(word, {}), group.get_command(context, word)
            if not isinstance(found, dict):
                raise SettingsFault(f"{self.path}: {word} is a command, so it needs a table: [{'.'.join(words)}].")
            assert inner is not None
            group, table = inner, found
        return table

    def _verify_names(self, table: dict[str, Any], names: Iterable[str], words: Sequence[str]) -> None:
        for name in table:
            if name not in (known := list(names)):
                place = f"[{'.'.join(words)}] has no key" if words else "there is no command"
                raise SettingsFault(f"{self.path}: {place} {name[:80]!r}; {nearest(name, known)}.")


def nearest(name: str, names: Sequence[str], otherwise: str | None = None) -> str:
    """Which of `names` is meant, in words; where none is near, `otherwise`, by default all that there are."""
    found = get_close_matches(name, names, 1, 0.5)
    return f"the nearest is {found[0]}" if found else otherwise or f"there are {', '.join(sorted(names)) or 'none'}"


def user_file() -> Path | None:
    """The user's own file, whether it is there or not; None for a user without a home."""
    try:
        return USER_FOLDER.expanduser() / FILE_NAME
    except RuntimeError:
        return None


def file_for(command: str, directory: Path | None) -> Path | None:
    """The file that counts for a command: that of the node's directory, else the user's, else None."""
    own = directory / FILE_NAME if directory is not None and command in OF_NODES else None
    return next((path for path in (own, user_file()) if path is not None and path.is_file()), None)


def context_of(context: click.Context, words: Sequence[str], command: click.Command) -> click.Context:
    """A context of the command in which nothing is run."""
    for word in words[:-1]:
        assert isinstance(context.command, click.Group)
        inner = context.command.get_command(context, word)
        assert inner is not None
        context = click.Context(inner, context, word, resilient_parsing=True)
    return click.Context(command, context, words[-1], resilient_parsing=True)


def judge(setting: Setting, value: Any, origin: str, context: click.Context) -> Any:
    """The value as its command gets it; raises SettingsFault that begins with `origin`."""
    from node.cli.main import sentence_of, status_of

    parameter = setting.parameter
    try:
        cast = parameter.type_cast_value(context, value)
        return cast if parameter.callback is None else parameter.callback(context, parameter, cast)
    except click.ClickException as error:
        raise SettingsFault(f"{origin}: {error.message}") from None
    except Exception as error:
        if status_of(error) is None:
            raise
        raise SettingsFault(f"{origin}: {sentence_of(error)}") from None


def _typed(setting: Setting, value: Any, origin: str) -> Any:
    """A value of TOML as the text (texts, if it may be repeated) behind its flag, or true or false."""
    if setting.is_flag:
        if isinstance(value, bool):
            return value
        raise SettingsFault(f"{origin} is true or false.")
    if setting.is_list:
        return [_text(setting, each, origin) for each in (value if isinstance(value, list) else [value])]
    return _text(setting, value, origin)


def _text(setting: Setting, value: Any, origin: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str | int | float):
        raise SettingsFault(f"{origin} is a text or a number{', or a list of them' if setting.is_list else ''}.")
    try:
        text = str(value)
    except ValueError:  # more digits than Python prints
        raise SettingsFault(f"{origin}: this number is too long.") from None
    if isinstance(setting.parameter.type, click.Path) and text.startswith("~"):
        return os.path.expanduser(text)
    return text


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
