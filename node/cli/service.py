"""`gonode service print`: a unit of systemd that runs a node."""

import pwd
import sys
from pathlib import Path

import click

from node.cli.given import given_values
from node.cli.setting import Setting, settings_of
from node.cli.settings_file import FILE_NAME, SettingsFault, context_of, judge, nearest
from node.cli.unit import STATE, WHAT, Unit
from node.cli.words import whole_words


@click.group()
def service() -> None:
    """Have the system run a node."""


@service.command("print")
@click.option(
    "--user/--system",
    "is_user",
    default=True,
    show_default=True,
    help="A unit of yours, or one of the machine's, with an account of its own.",
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True)
@click.pass_context
def print_(context: click.Context, is_user: bool, words: tuple[str, ...]) -> int:
    """Print a unit of systemd that runs COMMAND, such as `join --dir DIR`, starts it again and ends it in order."""
    root, name = context.find_root(), words[0]
    assert isinstance(root.command, click.Group)
    command = root.command.get_command(root, name) if name in WHAT else None
    if command is None:
        raise SettingsFault(f"{name[:80]!r} runs no node; {nearest(name, list(WHAT))}.")
    inner = context_of(root, (name,), command)
    inner.resilient_parsing = False
    rest = whole_words(inner, words[1:])
    values, _, _ = command.make_parser(inner).parse_args(list(rest))
    directory = values.get("directory")
    where = Path(directory) if isinstance(directory, str) else None
    if any(parameter.name == "ticket" for parameter in command.params) and not isinstance(values.get("ticket"), str):
        _verify_ticket(root, command, name, where, is_user)
    if isinstance(ticket := values.get("ticket"), str):
        _read_ticket(ticket)
    for setting in settings_of((name,), command):
        value = values.get(str(setting.parameter.name))
        if isinstance(value, str | bool | list):
            judge(setting, value, setting.name, inner)
    account = None if is_user or where is None else _owner(where)
    try:
        unit = Unit(_program(), (name, *rest), is_user, account, None if account is None else str(where))
    except ValueError as error:
        raise SettingsFault(str(error)) from None
    click.echo(unit.encode(), nl=False)
    click.echo(_advice(unit, name), err=True)
    return 0


def _program() -> list[str]:
    program = Path(sys.executable).with_name("gonode")
    return [str(program)] if program.is_file() else [sys.executable, "-m", "node"]


def _verify_ticket(
    root: click.Context, command: click.Command, name: str, directory: Path | None, is_user: bool
) -> None:
    """A service cannot be asked for a ticket: it is in the words, or in the settings of the account that it runs under.

    Of an account of its own only those in the node's directory are known.
    """
    setting = next(Setting((name,), each) for each in command.params if each.name == "ticket")
    given = given_values(root, (name,), command, directory).get(setting)
    own = None if directory is None else str(directory / FILE_NAME)
    is_kept = given is not None and given.source == "file" and (is_user or given.origin == own)
    if not is_kept:
        raise SettingsFault(
            f"The service needs a ticket: gonode service print {'' if is_user else '--system '}-- {name} TICKET."
        )


def _read_ticket(text: str) -> None:
    """Raises HomeError for what is no ticket."""
    from node.disk.home import read_ticket

    read_ticket(text)


def _owner(directory: Path) -> str:
    """The account that has a node's directory; raises SettingsFault."""
    try:
        return pwd.getpwuid(directory.stat().st_uid).pw_name
    except FileNotFoundError:
        raise SettingsFault(
            f"{directory} is not there: make it, and give it to the account that the service runs under (chown); or leave "
            f"it out, and systemd makes an account with {STATE}."
        ) from None
    except KeyError:
        raise SettingsFault(f"{directory} belongs to no account of this machine (chown).") from None


def _advice(unit: Unit, name: str) -> str:
    """What to do with the text."""
    service = f"gonode-{name}.service"
    if unit.is_user:
        return (
            f"Write this to ~/.config/systemd/user/{service}, then: systemctl --user enable --now {service}. For it to run "
            "while you are not logged in: loginctl enable-linger. Variables, such as GONODE_PASSPHRASE, may stand in "
            "~/.gonode/environment (chmod 600)."
        )
    home = "" if unit.account is not None else f" Its settings are in {STATE}/.gonode/gonode.toml."
    root = (
        " It runs as root, which no node needs: give the directory to another account."
        if unit.account == "root"
        else ""
    )
    return (
        f"Write this to /etc/systemd/system/{service}, then: systemctl enable --now {service}. Variables, such as "
        f"GONODE_PASSPHRASE, may stand in {unit.environment_file} (chmod 600).{home}{root}"
    )
