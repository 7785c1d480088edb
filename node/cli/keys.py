"""`gonode invite` and `gonode root sign`: who may take part."""

from pathlib import Path

import click


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def invite(directory: Path) -> int:
    """Print a new invite, with which one key may register; DIRECTORY is the coordinator's."""
    from node.disk.home import Home
    from node.founding.invites import make_invite

    click.echo(make_invite(Home(directory)))
    return 0


@click.group()
def root() -> None:
    """Work with the run's root keys."""


@root.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--verifier", "verifiers", multiple=True, required=True, metavar="KEY", help="A key request; repeatable.")
def sign(directory: Path, verifiers: tuple[str, ...]) -> int:
    """Approve verifiers: sign the next root version, which the coordinator in DIRECTORY logs at its next start."""
    from node.cli.run import parse_key_request
    from node.founding.root_signing import sign_root
    from protocol.words import counted

    root = sign_root(directory, [parse_key_request(text) for text in verifiers])
    click.echo(
        f"Root version {root.version}: {counted(len(root.verifiers), 'verifier')}, of whom {root.witness_threshold} must "
        "cosign. Restart the coordinator to log it."
    )
    return 0
