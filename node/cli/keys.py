"""`gonode invite` and `gonode keys ...`: who may take part, and secret keys as files, as words, under a passphrase."""

import json
import os
import sys
from pathlib import Path

import click

from node.cli.options import ticket_argument


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
def keys() -> None:
    """Work with secret keys."""


@keys.command()
@click.argument("path", metavar="FILE|DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(path: Path, as_json: bool) -> int:
    """Print the public key of FILE, or of all keys in a node's DIR; no passphrase is needed."""
    from node.disk.keyring import KeyringError, is_under_passphrase, load_public

    files = [path]
    if path.is_dir():
        folder = path / "keys" if (path / "keys").is_dir() else path
        files = sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
        if not files:
            raise KeyringError(f"{path}: no keys are here.")
    found = [(each, load_public(each).hex(), is_under_passphrase(each)) for each in files]
    if as_json:
        names = ("file", "public", "passphrase")
        click.echo(json.dumps({"keys": [dict(zip(names, (str(file), *rest), strict=True)) for file, *rest in found]}))
        return 0
    for file, public, is_sealed in found:
        click.echo(f"{public}  {file}  {'under a passphrase' if is_sealed else 'under no passphrase'}")
    return 0


@keys.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--words", is_flag=True, help="Print the key as 24 words.")
@click.option("--to", "copy", type=click.Path(path_type=Path, dir_okay=False), help="Write a copy of the key file.")
def export(file: Path, words: bool, copy: Path | None) -> int:
    """Copy the key in FILE: as 24 words, to be written on paper, or as another key file under a passphrase of its own."""
    from node.disk.keyring import KeyringError, create_key, load_key
    from protocol.key_words import encode_words

    if words == (copy is not None):
        raise KeyringError("Say how to export the key: --words, or --to FILE.")
    secret = load_key(file)
    if copy is not None:
        create_key(copy, secret, asks=True)
        click.echo(f"{copy}: {secret.public.hex()}")
        return 0
    click.echo("Whoever reads these words has the key; they are under no passphrase. Write them on paper.", err=True)
    click.echo(encode_words(secret))
    return 0


@keys.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--words", is_flag=True, help="Read 24 words from standard input.")
@click.option("--from", "source", type=click.Path(path_type=Path, dir_okay=False), help="Read another key file.")
@click.option(
    "--public", metavar="KEY", callback=_key, help="The public key that it has to be; else nothing is written."
)
def import_(file: Path, words: bool, source: Path | None, public: bytes | None) -> int:
    """Write a key from 24 words or from another key file to FILE, which must not exist, and print its public key."""
    from node.disk.keyring import KeyringError, create_key, load_key
    from node.disk.passphrase import is_terminal
    from protocol.key_words import parse_words

    if words == (source is not None):
        raise KeyringError("Say what to import: --words, or --from FILE.")
    if file.exists():
        raise KeyringError(f"{file}: a key is there already and is never overwritten.")
    if source is None:
        if is_terminal():
            click.echo("The 24 words, on one line:", err=True)
        secret = parse_words(_line())
    else:
        secret = load_key(source)
    if public is not None and secret.public != public:
        raise KeyringError(f"This is the key {secret.public.hex()}, not {public.hex()}; nothing is written.")
    create_key(file, secret, asks=True)
    click.echo(secret.public.hex())
    return 0


@keys.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def passphrase(file: Path) -> int:
    """Put the key in FILE under another passphrase, or under one for the first time; an empty one takes it away."""
    from node.disk.keyring import KeyringError, change_passphrase
    from node.disk.passphrase import NEW_PASSPHRASE_VARIABLE, is_terminal

    if NEW_PASSPHRASE_VARIABLE not in os.environ and not is_terminal():
        raise KeyringError(f"Nobody can be asked here for a new passphrase, and {NEW_PASSPHRASE_VARIABLE} is not set.")
    is_sealed = change_passphrase(file, NEW_PASSPHRASE_VARIABLE)
    click.echo(f"{file}: the key is under {'a passphrase' if is_sealed else 'no passphrase'} now.")
    if is_sealed:
        click.echo("When the passphrase is lost, so is the key, unless there are its words or another copy.", err=True)
    return 0


def _line() -> str:
    """Words from standard input, up to a length that no key's words have."""
    try:
        return sys.stdin.read(4096) if not sys.stdin.isatty() else sys.stdin.readline(4096)
    except UnicodeDecodeError:
        return ""


@keys.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def recovery(file: Path) -> int:
    """Make a recovery key in FILE and print its hash, for `gonode join --recovery`."""
    from hashlib import sha256

    from node.disk.keyring import PASSPHRASE_VARIABLE, create_key
    from protocol.keyfile import is_encrypted

    secret = create_key(file, asks=True)
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
    from node.screen.screen import Output
    from protocol.words import counted

    home = Home(directory or HOMES.expanduser() / read_ticket(ticket).run.hex()[:16])
    peering = Peering((), (), True, UseRelays.NEVER, UNLIMITED)
    done = run_replacement(NodeOptions(home, ticket, Output(), peering), recovery, old, invalid_from)
    lost = (
        f"{counted(done.batches, 'batch', 'batches')} with {counted(done.games, 'game')}" if done.batches else "nothing"
    )
    click.echo(
        f"The key {done.old.hex()[:16]} is replaced by {done.new.hex()} at entry {done.index}; of what it sent from entry "
        f"{done.invalid_from} on, {lost} is dropped. Go on with: gonode join TICKET --dir {home.directory}"
    )
    return 0
