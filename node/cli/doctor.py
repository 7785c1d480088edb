"""`gonode doctor`: what is right and wrong with this machine, a node's directory and the node there, and what mends it."""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.config import find_setting
from node.cli.given import given_values
from node.cli.main import NO
from node.cli.own_home import IS_THERE, RUNS, find_home, home_below
from node.cli.setting import PREFIX, commands_in, settings_of
from node.cli.settings_file import SettingsFault, file_for, judge, nearest

if TYPE_CHECKING:
    from node.disk.home import Home
    from node.doctor.finding import Finding

MARKS = {"ok": "ok", "unknown": "?", "warning": "warning", "wrong": "WRONG"}


@click.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The node's directory; default: that of `gonode join` by the settings, else the one below ~/.gonode where a node "
    "runs or, where none runs, that there is.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_context
def doctor(context: click.Context, directory: Path | None, as_json: bool) -> int:
    """Look at machine, directory, ports and the running node, and say what is wrong and what mends it."""
    from node.doctor.clock import check_clock
    from node.doctor.finding import Standing
    from node.doctor.folder import check_folder
    from node.doctor.machine import check_machine
    from node.doctor.ports import check_ports
    from node.doctor.running import ask_node, check_running

    root, now = context.find_root(), time.time()
    home = _home(root, directory)
    settings, listen = _check_settings(root, home)
    status = ask_node(home)
    found = [
        *settings,
        *check_machine(),
        *check_folder(home),
        *check_ports(listen, status is not None),
        check_clock(home, now),
        *check_running(home, status, now),
    ]
    is_sound = all(finding.standing is not Standing.WRONG for finding in found)
    if as_json:
        click.echo(
            json.dumps({"ok": is_sound, "directory": str(home.directory), "checks": [each.to_json() for each in found]})
        )
    else:
        for finding in found:
            click.echo(f"{MARKS[finding.standing.value]:<8} {finding.name}: {finding.detail}")
            if finding.mend:
                click.echo(f"{'':8}   -> {finding.mend}")
        click.echo("\nNothing is wrong." if is_sound else "\nWhat is marked WRONG has to be mended.")
    return 0 if is_sound else NO


def _home(root: click.Context, directory: Path | None) -> "Home":
    """The node's directory, also where settings that cannot be used do not say it; ~/.gonode itself where none is below."""
    from node.disk.home import HOMES, Home

    marks = RUNS, IS_THERE
    try:
        home = find_home(root, directory, marks)
    except SettingsFault:  # a finding of its own
        home = home_below(marks)
    return home or Home(HOMES.expanduser())


def _check_settings(root: click.Context, home: "Home") -> tuple[list["Finding"], tuple[str, ...]]:
    """Whether the settings can be used, and where the node that lives here would listen by them."""
    from node.doctor.finding import ok, wrong

    role = next((name for name, key in _ROLES if home.key(key).is_file()), "join")
    try:
        for words, command in commands_in((), root.command):
            given_values(root, words, command, home.directory)
        listen = _listen(root, role, home)
    except SettingsFault as error:
        mend = "Correct that line or variable, or take it out; gonode config shows all that there are."
        return [wrong("settings", error.message, mend)], ()
    used = file_for(role, home.directory)
    found = [ok("settings", "There is no file of settings." if used is None else f"{used} can be used.")]
    return [*found, *_check_variables(root)], listen


def _check_variables(root: click.Context) -> list["Finding"]:
    """A warning for each variable that looks like a setting's and is none, such as one that is misspelt."""
    from node.doctor.finding import warning

    known = [each.variable for words, command in commands_in((), root.command) for each in settings_of(words, command)]
    assert isinstance(root.command, click.Group)
    commands = tuple(f"{PREFIX}_{name.upper()}_" for name in root.command.list_commands(root))
    return [
        warning("settings", f"{name} is no setting; {nearest(name, known, 'none is near')}.", f"Run: unset {name}")
        for name in sorted(os.environ)
        if name.startswith(commands) and name not in known
    ]


_ROLES = (("coordinate", "coordinator"), ("verify", "verifier"))


def _listen(root: click.Context, role: str, home: "Home") -> tuple[str, ...]:
    """The addresses at which a role listens that is called without flags; a coordinator at its ticket's."""
    from node.disk.home import HomeError

    setting, context = find_setting(root, f"{role}.listen")
    given = given_values(root, setting.words, context.command, home.directory)[setting]
    found: tuple[str, ...] = judge(setting, given.value, setting.key, context)
    if role != "coordinate" or found:
        return found
    try:
        return tuple(address.partition("/p2p/")[0] for address in home.load_ticket().addresses)
    except HomeError:
        return ()
