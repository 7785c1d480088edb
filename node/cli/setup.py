"""`gonode setup`: asks a few questions about this machine's part in a run, and keeps the answers in the file of settings."""

from pathlib import Path
from typing import Any

import click

from node.cli.config import directory_option, find_setting, target
from node.cli.questions import Question, questions
from node.cli.setting import Setting, commands_in, settings_of
from node.cli.settings_file import SettingsFault, SettingsFile

NO_ANSWER = "-"
"""What is typed for taking a setting out of the file."""


@click.command()
@directory_option
@click.pass_context
def setup(context: click.Context, directory: Path | None) -> int:
    """Ask a few questions, once, so that `gonode join` alone is enough from then on."""
    from node.cli.settings_edit import change_settings
    from node.disk.passphrase import is_terminal
    from node.machine.processor import usable_cores

    root = context.find_root()
    settings = {
        setting.key: setting for words, leaf in commands_in((), root.command) for setting in settings_of(words, leaf)
    }
    asked = questions(settings, usable_cores())
    if not is_terminal():
        raise SettingsFault(
            "Nobody can be asked here, for this is no terminal: keep the answers by `gonode config set join.ticket TICKET`, "
            f"and so {', '.join(question.key for question in asked[1:])}, or give them as flags of `gonode join`."
        )
    path = target(settings["join.ticket"], directory)
    click.echo(
        f"{len(asked)} questions. An empty answer leaves what stands in brackets, {NO_ANSWER} takes an answer back, Ctrl-C "
        f"ends and changes nothing. All can be changed later: in {path}, by gonode config set, or by setup again.",
        err=True,
    )
    answers = [
        (settings[question.key], _answer(root, question, _kept(path, settings[question.key]))) for question in asked
    ]
    is_changed = change_settings(path, [answer for answer in answers if answer[1] is not _UNCHANGED])
    click.echo(f"\nKept in {path}." if is_changed else "\nNothing is changed.", err=True)
    ticket = "" if _kept(path, settings["join.ticket"]) else " TICKET"
    where = "" if directory is None else f" --dir {directory}"
    click.echo(f"Begin with: gonode join{ticket}{where}", err=True)
    return 0


_UNCHANGED: Any = object()


def _kept(path: Path, setting: Setting) -> Any:
    """What the file says now, None for nothing."""
    inner = SettingsFile.load(path).table.get(setting.words[0]) if path.is_file() else None
    return inner.get(setting.name) if isinstance(inner, dict) else None


def _answer(root: click.Context, question: Question, kept: Any) -> Any:
    """The value as the file is to hold it, None for none, or `_UNCHANGED`; asked again until it can be used."""
    from node.cli.settings_edit import typed

    setting, inner = find_setting(root, question.key)
    stands = question.otherwise if kept is None else str(kept)
    click.echo(f"\n{click.wrap_text(question.text, 100)}", err=True)
    while True:
        text = click.prompt(f"{setting.name} [{stands}]", default="", show_default=False, err=True).strip()
        if not text:
            return _UNCHANGED
        if text == NO_ANSWER:
            return None
        if isinstance(setting.parameter.type, click.Path):
            text = str(Path(text).expanduser().absolute())
        try:
            return _whole_ticket(text) if setting.name == "ticket" else typed(setting, text, setting.name, inner)
        except SettingsFault as error:
            click.echo(error.message, err=True)


def _whole_ticket(text: str) -> str:
    """The ticket's text, also where a file's name is given, so that the file is needed no more; raises SettingsFault."""
    from node.disk.home import HomeError, read_ticket

    try:
        return read_ticket(text).encode()
    except HomeError as error:
        raise SettingsFault(str(error)) from None
