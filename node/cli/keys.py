"""`gonode invite`, `gonode root sign`, `gonode keys recovery` and `replace`: who may take part, and by which keys."""

from pathlib import Path

import click

from node.cli.roles import ticket_argument


def _key(context: click.Context, parameter: click.Parameter, value: str | None) -> bytes | None:
    try:
        key = None if value is None else bytes.fromhex(value)
    except ValueError:
        key = b""
    if key is not None and len(key) != 32:
        raise click.BadParameter("a key has 64 hexadecimal digits.")
    return key


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


@click.group()
def keys() -> None:
    """Work with a contributor's keys."""


@keys.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def recovery(file: Path) -> int:
    """Make a recovery key in FILE and print its hash, for `gonode join --recovery`."""
    from hashlib import sha256

    from node.disk.keyring import PASSPHRASE_VARIABLE, create_key
    from protocol.keyfile import is_encrypted

    secret = create_key(file)
    plain = "" if is_encrypted(file.read_bytes()) else f" It is under no passphrase ({PASSPHRASE_VARIABLE} is not set)."
    click.echo(
        f"{file}: keep this file away from the contributor's machine, such as on a stick; whoever has it can take the "
        f"identity over, once.{plain} Join with the hash below: gonode join TICKET --recovery HASH.",
        err=True,
    )
    click.echo(sha256(secret.public).hexdigest())
    return 0


@keys.command()
@ticket_argument
@click.option(
    "--recovery",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of the recovery key that the old key was registered with.",
)
@click.option("--key", "old", metavar="KEY", callback=_key, help="The key to replace (hex); default: the directory's.")
@click.option(
    "--from",
    "invalid_from",
    metavar="INDEX",
    type=click.IntRange(0, 2**63 - 1),
    help="Batches logged from this entry on were a thief's; default: from the first that this directory did not send.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="The node's directory; default: one a run below ~/.gonode.",
)
def replace(ticket: str, recovery: Path, old: bytes | None, invalid_from: int | None, directory: Path | None) -> int:
    """Replace a stolen or lost key by a new one, once; its history goes on."""
    from node.blobs.options import UNLIMITED
    from node.disk.home import HOMES, Home, read_ticket
    from node.peering.reachability import UseRelays
    from node.roles import NodeOptions, Peering, run_replacement
    from protocol.words import counted

    home = Home(directory or HOMES.expanduser() / read_ticket(ticket).run.hex()[:16])
    peering = Peering((), (), True, UseRelays.NEVER, UNLIMITED)
    done = run_replacement(NodeOptions(home, ticket, False, peering), recovery, old, invalid_from)
    lost = (
        f"{counted(done.batches, 'batch', 'batches')} with {counted(done.games, 'game')}" if done.batches else "nothing"
    )
    click.echo(
        f"The key {done.old.hex()[:16]} is replaced by {done.new.hex()} at entry {done.index}; of what it sent from entry "
        f"{done.invalid_from} on, {lost} is dropped. Go on with: gonode join TICKET --dir {home.directory}"
    )
    return 0
