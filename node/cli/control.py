"""`gonode status`, `stop`, `drain`, `pause` and `resume`: talk to the node that runs in a directory."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from node.cli.own_home import RUNS, find_home

if TYPE_CHECKING:
    from node.disk.home import Home
    from node.status import Status

T = TypeVar("T")

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The node's directory; default: that of `gonode join` by the settings, else the one below ~/.gonode where a node "
    "runs.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@click.command()
@directory_option
@click.option("--contributors", is_flag=True, help="How every contributor stands, most credit first.")
@json_option
@click.pass_context
def status(context: click.Context, directory: Path | None, contributors: bool, as_json: bool) -> int:
    """Say what the running node does and what it waits for."""
    from node.control import ask_status

    home = _home(context, directory)
    if contributors:
        return _contributors(home, as_json)
    answer = _asked(home, ask_status)
    click.echo(json.dumps(answer.to_json()) if as_json else _text(answer))
    return 0


@click.command()
@directory_option
@json_option
@click.pass_context
def stop(context: click.Context, directory: Path | None, as_json: bool) -> int:
    """Stop the running node at once; nothing finished is lost."""
    answer = _told(context, directory, "stop")
    click.echo(json.dumps(answer) if as_json else "Stopping.")
    return 0


@click.command()
@directory_option
@json_option
@click.pass_context
def drain(context: click.Context, directory: Path | None, as_json: bool) -> int:
    """Have the running node keep what is in flight, then end; a coordinator begins nothing new and does not end."""
    answer = _told(context, directory, "drain")
    click.echo(json.dumps(answer) if as_json else "Draining.")
    return 0


@click.command()
@directory_option
@json_option
@click.pass_context
def pause(context: click.Context, directory: Path | None, as_json: bool) -> int:
    """Have the running contributor stop playing at once, and keep its links and its games in flight."""
    return _rest(_told(context, directory, "pause"), as_json)


@click.command()
@directory_option
@json_option
@click.pass_context
def resume(context: click.Context, directory: Path | None, as_json: bool) -> int:
    """Have the running contributor play on after `gonode pause`."""
    return _rest(_told(context, directory, "resume"), as_json)


def _rest(answer: dict[str, Any], as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(answer))
    elif answer.get("paused"):
        click.echo(f"Play rests; waiting for: {answer['paused']['waiting_for']}.")
    else:
        click.echo("Play goes on.")
    return 0


def _contributors(home: "Home", as_json: bool) -> int:
    """From the node that runs, else from the folder of one that does not."""
    from node.control import ControlError, ask
    from node.disk.lockfile import DirectoryInUse
    from node.standing import read_contributors, table_of

    try:
        answer = ask(home.control, "contributors")
    except ControlError as error:
        try:
            answer = read_contributors(home)
        except DirectoryInUse:
            raise error from None
    click.echo(json.dumps(answer) if as_json else "\n".join(table_of(answer)))
    return 0


def _home(context: click.Context, directory: Path | None) -> "Home":
    """The directory of the node that is meant; raises ControlError where none runs below ~/.gonode."""
    from node.control import ControlError
    from node.disk.home import HOMES

    home = find_home(context.find_root(), directory, (RUNS,))
    if home is None:
        raise ControlError(f"No node runs below {HOMES}; say which directory: --dir DIR.")
    return home


def _told(context: click.Context, directory: Path | None, command: str) -> dict[str, Any]:
    """What the node answers to a command."""
    from node.control import ask

    return _asked(_home(context, directory), partial(ask, command=command))


def _asked(home: "Home", question: Callable[[Path], T]) -> T:
    """What the node at a socket answers; a ControlError says how the last one ended, where that is known."""
    from node.control import ControlError

    try:
        return question(home.control)
    except ControlError as error:
        if home.fault.is_file():
            raise ControlError(f"{error} The last one ended: {home.fault.read_text(encoding='utf-8')}") from None
        raise


def _text(answer: "Status") -> str:
    """A status in words, a line for each thing."""
    from node.screen.details import all_rows
    from node.screen.panel import uncut

    return uncut(all_rows(answer), is_ascii="utf" not in (sys.stdout.encoding or "").lower())
