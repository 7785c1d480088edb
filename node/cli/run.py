"""`gonode run init`, `show`, `amend` and `ticket`: a new run, what a manifest says, its next version, a new address."""

from pathlib import Path

import click

from node.cli.ceremony import (
    agreement,
    log_index,
    parse_key_request,
    replacement,
    signing_options,
    tell_missing,
)
from node.cli.choices import choice_options, parse_choices


@click.group()
def run() -> None:
    """Make a run, or show what one would be."""


@run.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--from", "source", type=click.Path(path_type=Path, dir_okay=False), help="The run's TOML file.")
@click.option(
    "--verifier", "verifiers", multiple=True, metavar="KEY", help="A verifier's key request (hex); repeatable."
)
@click.option(
    "--address",
    default="/ip4/127.0.0.1/tcp/0",
    show_default=True,
    help="Where others reach the coordinator; the ticket names it. Port 0: a free one, now and for good.",
)
@click.option("--expires", type=log_index(1), metavar="INDEX", help="The verifiers' roles end at this log entry.")
@click.option(
    "--root-key",
    "root_keys",
    multiple=True,
    metavar="KEY",
    help="A root key that lies elsewhere (gonode root init); repeatable. Default: one is made in DIRECTORY.",
)
@click.option("--threshold", type=click.IntRange(1), help="How many root keys have to sign; default: more than half.")
@choice_options
def init(
    directory: Path,
    source: Path | None,
    verifiers: tuple[str, ...],
    address: str,
    expires: int | None,
    root_keys: tuple[str, ...],
    threshold: int | None,
    presets: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Make keys, root and manifest in DIRECTORY and print the run's ticket."""
    from node.founding.founding import describe, found_run
    from protocol.types import UNSET

    keys = [parse_key_request(text) for text in verifiers]
    owners = [parse_key_request(text, "root") for text in root_keys]
    choices = parse_choices(presets, settings)
    run = found_run(directory, source, keys, address, choices, owners, threshold, expires or UNSET)
    click.echo(describe(run, directory), err=True)
    if owners:
        tell_missing(directory)
    click.echo(run.ticket.encode())


@run.command()
@click.argument("source", metavar="[FILE]", type=click.Path(path_type=Path, dir_okay=False), required=False)
@choice_options
def show(source: Path | None, presets: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Print the complete TOML of a run's FILE with presets and settings on top."""
    from node.founding.manifest_file import load_run
    from node.founding.toml_text import encode_toml

    table, _ = load_run(source, parse_choices(presets, settings))
    click.echo(encode_toml(table), nl=False)


@run.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--from", "source", type=click.Path(path_type=Path, dir_okay=False), help="A TOML file with what changes."
)
@signing_options
@choice_options
def amend(
    directory: Path,
    source: Path | None,
    key_file: Path | None,
    yes: bool,
    instead: bool,
    presets: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Make the next version of the manifest, which the coordinator in DIRECTORY logs once the root's keys have signed."""
    from node.disk.home import Home
    from node.founding.amending import amend
    from node.founding.ceremony import signing_key

    home = Home(directory)
    secret = signing_key(home, key_file)
    agree = agreement(secret is not None and not yes)
    amend(home, source, parse_choices(presets, settings), secret, agree, replacement(instead))
    tell_missing(directory, secret, key_file)


@run.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--address", help="Where others reach the coordinator from now on; default: as in the ticket that is there."
)
def ticket(directory: Path, address: str | None) -> None:
    """Print the run's ticket, with another address if one is given; it is the same run, and older tickets name it too."""
    from node.disk.home import Home
    from node.disk.keyring import create_key, load_public
    from node.founding.listening import settle_port
    from protocol.ticket import Ticket

    home = Home(directory)
    found = home.load_ticket()
    if address is not None:
        host = home.key("host")
        key = load_public(host) if host.exists() else create_key(host).public
        found = Ticket(found.run, found.root_digest, (settle_port(address, key),))
        home.store_ticket(found)
    click.echo(found.encode())
