"""`gonode run init`: the keys, the signed manifest and the ticket of a new run; `run show`: what a manifest is made of."""

from pathlib import Path

import click

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
@choice_options
def init(
    directory: Path,
    source: Path | None,
    verifiers: tuple[str, ...],
    address: str,
    presets: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Make keys, root and manifest in DIRECTORY and print the run's ticket."""
    from node.founding.founding import describe, found_run

    keys = [parse_key_request(text) for text in verifiers]
    run = found_run(directory, source, keys, address, parse_choices(presets, settings))
    click.echo(describe(run), err=True)
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


def parse_key_request(text: str) -> bytes:
    """The key in a verifier's request: 64 hexadecimal digits."""
    from node.founding.founding import FoundingError

    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise FoundingError(f"{text[:80]!r} is not a verifier's key (64 hexadecimal digits).")
    return key
