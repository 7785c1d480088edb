"""`gonode root ...`: the offline keys of a run, and the changes that a threshold of them signs (docs/ceremonies.md)."""

from pathlib import Path

import click

from node.cli.ceremony import directory_argument, run_home, tell_missing
from node.cli.root_change import revoke, rotate
from node.cli.root_show import show
from node.cli.root_sign import sign


@click.group()
def root() -> None:
    """Work with the run's root keys."""


@root.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def init(file: Path) -> int:
    """Make a root key in FILE, for one holder, and print its public key for `gonode run init --root-key`."""
    from node.disk.keyring import create_key, is_under_passphrase

    secret = create_key(file, asks=True)
    plain = "" if is_under_passphrase(file) else " It is under no passphrase: gonode keys passphrase FILE."
    click.echo(
        f"{file}: keep this file offline, with a copy elsewhere (gonode keys export). One holder's key alone changes "
        "nothing where the threshold is above 1; when fewer keys than the threshold are left, the run can never be "
        f"changed again.{plain}",
        err=True,
    )
    click.echo(secret.public.hex())
    return 0


@root.command()
@directory_argument
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
def collect(directory: Path, files: tuple[Path, ...]) -> int:
    """Bring signed proposals back: add their signatures to what waits in the coordinator's DIR.

    In the directory of another node of the run, such as a verifier's, a complete root version is kept, so that the node
    knows it at its next start, whether the coordinator logs it or not.
    """
    from node.founding.ceremony import adopt, collect

    home = run_home(directory)
    is_coordinator = home.manifest.exists()
    taken = [(collect if is_coordinator else adopt)(home, file) for file in files]
    for proposal in taken:
        click.echo(f"{proposal.name}: {proposal.missing or 'enough keys have signed'}.")
    if is_coordinator:
        tell_missing(directory)
    return 0


for _command in (show, sign, rotate, revoke):
    root.add_command(_command)
