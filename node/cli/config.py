"""`gonode config`: every setting, its value and where that came from; `config set` and `unset` write the file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from node.cli.given import given_values
from node.cli.setting import Setting, commands_in, settings_of
from node.cli.settings_file import (
    FILE_NAME,
    OF_NODES,
    OF_USERS,
    USER_FOLDER,
    SettingsFault,
    context_of,
    file_for,
    nearest,
    of_user,
    user_file,
)

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="A node's directory, whose gonode.toml counts for it; default: ~/.gonode/gonode.toml.",
)


@click.group(invoke_without_command=True)
@directory_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def config(context: click.Context, directory: Path | None, as_json: bool) -> int:
    """Show every setting, its value and where that came from; or change the file."""
    if context.invoked_subcommand is not None:
        if as_json or directory is not None:
            raise click.UsageError(f"Options stand behind the word: gonode config {context.invoked_subcommand} ...")
        return 0
    values = list(_values(context.find_root(), directory))
    file = file_for(min(OF_NODES), directory)
    if as_json:
        click.echo(json.dumps({"file": None if file is None else str(file), "values": values}))
        return 0
    none = f"# No settings are kept yet; they would be in {USER_FOLDER / FILE_NAME}."
    click.echo(none if file is None else f"# Settings are in {file}.")
    click.echo("\n".join(_lines(values)))
    return 0


@config.command("set")
@click.argument("key")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@directory_option
@click.pass_context
def set_(context: click.Context, key: str, values: tuple[str, ...], directory: Path | None) -> int:
    """Write VALUE for KEY, such as join.nice, into the file; several values where the flag may be repeated."""
    from node.cli.settings_edit import change_settings, typed

    setting, inner = find_setting(context.find_root(), key)
    if len(values) > 1 and not setting.is_list:
        raise SettingsFault(f"{key} has one value, not {len(values)}.")
    value = typed(setting, list(values) if setting.is_list else values[0], key, inner)
    path, before = target(setting, directory), file_for(setting.words[0], directory)
    change_settings(path, [(setting, value)])
    click.echo(f"{path}: {key} is set.")
    if before not in (None, path):
        click.echo(f"For this directory {path} counts from now on, and {before} no more.", err=True)
    return 0


@config.command()
@click.argument("key")
@directory_option
@click.pass_context
def unset(context: click.Context, key: str, directory: Path | None) -> int:
    """Take KEY out of the file, so that its default counts again."""
    from node.cli.settings_edit import change_settings

    setting, _ = find_setting(context.find_root(), key)
    path = target(setting, directory)
    is_changed = path.exists() and change_settings(path, [(setting, None)])
    click.echo(f"{path}: {key} {'is set no more' if is_changed else 'was not set'}.")
    return 0


def find_setting(root: click.Context, key: str) -> tuple[Setting, click.Context]:
    """The setting that `key` names, and a context of its command; raises SettingsFault."""
    settings = {
        setting.key: (setting, context_of(root, words, command))
        for words, command in commands_in((), root.command)
        for setting in settings_of(words, command)
    }
    if key not in settings:
        raise SettingsFault(
            f"{key[:80]!r} is no setting; {nearest(key, list(settings), 'gonode config lists them all')}."
        )
    return settings[key]


def target(setting: Setting, directory: Path | None) -> Path:
    """The file that is to be changed; raises SettingsFault."""
    if directory is not None and setting.words[0] not in OF_NODES:
        raise SettingsFault(
            f"{setting.key} is no setting of a node's directory, whose file counts for {', '.join(sorted(OF_NODES))} alone: "
            "leave --dir out."
        )
    if directory is not None and setting.name in OF_USERS:
        raise SettingsFault(of_user(setting))
    path = user_file() if directory is None else directory / FILE_NAME
    if path is None:
        raise SettingsFault("This user has no home, where settings would be kept: say --dir DIR.")
    return path


def _values(root: click.Context, directory: Path | None) -> Iterator[dict[str, Any]]:
    """Each setting with its value and where that came from, as the JSON shows it; raises SettingsFault."""
    for words, command in commands_in((), root.command):
        context = context_of(root, words, command)
        for setting, given in given_values(root, words, command, directory).items():
            value = _plain(setting, context, given.value)
            yield {"key": setting.key, "value": value, "source": given.source, "from": given.origin}


def _plain(setting: Setting, context: click.Context, value: Any) -> Any:
    """A value as JSON has it: null for none, a number where the flag takes one."""
    if value is None:
        return None
    cast = setting.parameter.type_cast_value(context, value)
    if setting.is_list:
        return [str(each) for each in cast]
    return cast if isinstance(cast, bool | int | float) else str(cast)


def _lines(values: list[dict[str, Any]]) -> Iterator[str]:
    """A file of settings that holds all of them; what is not set, and where a value came from, as remarks."""
    from node.founding.toml_text import inline

    table = ""
    for found in values:
        words, _, name = found["key"].rpartition(".")
        if words != table:
            table = words
            yield f"\n[{table}]"
        value = found["value"]
        text = f"# {name} is not set" if value in (None, []) else f"{name} = {inline(value)}"
        yield text if found["source"] == "default" else f"{text}  # {found['from']}"
