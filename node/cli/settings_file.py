"""The file `gonode.toml`: which one counts, what it holds for a command, and what is wrong with it in one sentence.

Spec: `docs/commands.md` ("Settings"). Invariants: a value of the file is judged as if it were typed behind its flag; a
directory's file counts only for commands that run or ask the node that lives there, and not for `OF_USERS`, so that a
directory which came from others never says how it is audited or what is signed.
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
OF_NODES = frozenset(
    {"join", "verify", "relay", "mirror", "coordinate", "local", "status", "pause", "resume", "drain", "stop"}
)
"""The commands for which the file of a node's directory counts."""


OF_USERS = frozenset({"recovery", "metrics"})
"""What no file of a node's directory says: who may replace the key, and who may read how the node stands."""


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
            if name in OF_USERS and self.path != user_file():
                raise SettingsFault(f"{self.path}: {of_user(setting)}")
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


def of_user(setting: Setting) -> str:
    """Where a setting of `OF_USERS` counts."""
    return (
        f"{setting.key} counts as a flag, as {setting.variable} and in {USER_FOLDER / FILE_NAME} alone, since a node's "
        "directory may come from others."
    )


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
