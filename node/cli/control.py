"""`gonode status`, `stop`, `drain`, `pause` and `resume`: talk to the node that runs in a directory."""

import json
import time
from pathlib import Path
from typing import Any

import click

directory_option = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The node's directory; default: the one below ~/.gonode where a node runs.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@click.command()
@directory_option
@click.option("--contributors", is_flag=True, help="How every contributor stands, most credit first.")
@json_option
def status(directory: Path | None, contributors: bool, as_json: bool) -> int:
    """Say what the running node does and what it waits for."""
    if contributors:
        return _contributors(directory, as_json)
    answer = _ask(directory, "status")
    click.echo(json.dumps(answer) if as_json else "\n".join(_lines(answer)))
    return 0


@click.command()
@directory_option
@json_option
def stop(directory: Path | None, as_json: bool) -> int:
    """Stop the running node at once; nothing finished is lost."""
    answer = _ask(directory, "stop")
    click.echo(json.dumps(answer) if as_json else "Stopping.")
    return 0


@click.command()
@directory_option
@json_option
def drain(directory: Path | None, as_json: bool) -> int:
    """Have the running node keep what is in flight, then end; a coordinator begins nothing new and does not end."""
    answer = _ask(directory, "drain")
    click.echo(json.dumps(answer) if as_json else "Draining.")
    return 0


@click.command()
@directory_option
@json_option
def pause(directory: Path | None, as_json: bool) -> int:
    """Have the running contributor stop playing at once, and keep its links and its games in flight."""
    return _rest(directory, "pause", as_json)


@click.command()
@directory_option
@json_option
def resume(directory: Path | None, as_json: bool) -> int:
    """Have the running contributor play on after `gonode pause`."""
    return _rest(directory, "resume", as_json)


def _rest(directory: Path | None, command: str, as_json: bool) -> int:
    answer = _ask(directory, command)
    if as_json:
        click.echo(json.dumps(answer))
    elif answer.get("paused"):
        click.echo(f"Play rests; waiting for: {answer['paused']['waiting_for']}.")
    else:
        click.echo("Play goes on.")
    return 0


def _contributors(directory: Path | None, as_json: bool) -> int:
    """From the node that runs, else from the folder of one that does not."""
    from node.control import ControlError, ask
    from node.disk.home import Home
    from node.disk.lockfile import DirectoryInUse
    from node.standing import read_contributors, table_of

    home = Home(directory or _running())
    try:
        answer = ask(home.control, "contributors")
    except ControlError as error:
        try:
            answer = read_contributors(home)
        except DirectoryInUse:
            raise error from None
    click.echo(json.dumps(answer) if as_json else "\n".join(table_of(answer)))
    return 0


def _ask(directory: Path | None, command: str) -> dict[str, Any]:
    from node.control import ControlError, ask
    from node.disk.home import Home

    home = Home(directory or _running())
    try:
        return ask(home.control, command)
    except ControlError as error:
        if home.fault.is_file():
            raise ControlError(f"{error} The last one ended: {home.fault.read_text(encoding='utf-8')}") from None
        raise


def _running() -> Path:
    """The directory below ~/.gonode where a node runs; raises ControlError when none does."""
    from node.control import ControlError
    from node.disk.home import HOMES

    found = sorted(socket.parent for socket in HOMES.expanduser().glob("*/control.sock"))
    if not found:
        raise ControlError(f"No node runs below {HOMES}; say which directory: --dir DIR.")
    if len(found) > 1:
        raise click.UsageError(f"Several nodes run below {HOMES} ({', '.join(f.name for f in found)}): say --dir DIR.")
    return found[0]


def _lines(answer: dict[str, Any]) -> list[str]:
    lines = []
    for name, value in answer.items():
        if name == "queues":
            for queue in value:
                waits = _waits(queue["waiting_for"], queue["since_unix_s"])
                lines.append(f"queue {queue['name']}: {queue['length']}{waits}")
        elif name == "links":
            lines += [_link(link) for link in value]
        elif name == "bans":
            lines += [
                f"ban {ban['peer'][:8]}: {ban['left_s']} s left, times {ban['times']}: {ban['reason']}" for ban in value
            ]
        elif name == "services":
            restarts = sum(service["restarts"] for service in value)
            lines.append(f"services: {len(value)}, restarts {restarts}")
            lines += [
                f"service {service['name']}: restarts {service['restarts']}, the last one after: {service['last_failure']}"
                for service in value
                if service["restarts"]
            ]
        elif name == "paused":
            if value:
                lines.append(f"paused{_waits(value['waiting_for'], value['since_unix_s'])}")
        elif name == "engine":
            lines.append(
                f"engine: {value['device']} ({value['kernel']}), threads {value['threads']}, games {value['games']}, "
                f"restarts {value['restarts']}, canaries {value['canaries']}"
            )
        elif isinstance(value, list):
            lines.append(f"{name}: {len(value)}")
        elif not isinstance(value, dict):
            lines.append(f"{name}: {'-' if value is None else value}")
    return lines


def _link(link: dict[str, Any]) -> str:
    """One connection: the peer, who dialed, and what is awaited."""
    way = "it dialed" if link["address"] is None else link["address"].rpartition("/p2p/")[0]
    waits = _waits(link["waiting_for"], link["waiting_since_unix_s"])
    return f"link {link['peer'][:8]}: {_since(link['since_unix_s'])}, {way}{waits}"


def _waits(what: str | None, unix_s: int | None) -> str:
    return "" if not what else f", waiting for: {what}{'' if unix_s is None else f' ({_since(unix_s)})'}"


def _since(unix_s: int) -> str:
    return f"since {time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(unix_s))}"
