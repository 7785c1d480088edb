"""`gonode root sign`: a root key's signature under a proposal, and the version that approves verifiers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.ceremony import (
    confirm,
    log_index,
    parse_key_request,
    replacement,
    run_home,
    signing_options,
    tell_missing,
)
from node.cli.main import NO

if TYPE_CHECKING:
    from node.disk.home import Home


@click.command()
@click.argument("where", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--verifier", "verifiers", multiple=True, metavar="KEY", help="A key request; repeatable.")
@click.option("--expires", type=log_index(1), metavar="INDEX", help="Their roles end at this log entry.")
@signing_options
def sign(
    where: Path, verifiers: tuple[str, ...], expires: int | None, key_file: Path | None, yes: bool, instead: bool
) -> int:
    """Sign a proposal FILE with a root key; or approve verifiers of the run in DIR; or sign what waits in DIR."""
    from node.founding.ceremony import signing_key
    from node.founding.errors import FoundingError
    from node.founding.root_signing import approve
    from protocol.words import counted

    if instead and not verifiers:
        raise FoundingError("--instead is about a version that is made here, and no --verifier is given.")
    if where.is_file():
        if verifiers or expires:
            raise FoundingError("What a proposal FILE asks for cannot be changed by who signs it.")
        return _sign_file(where, key_file, yes)
    home = run_home(where)
    if not verifiers:
        return _sign_waiting(home, key_file, yes)
    keys = [parse_key_request(text) for text in verifiers]
    proposal = approve(home, keys, expires, signing_key(home, key_file), replacement(instead))
    root = proposal.root
    assert root is not None
    count = sum(role.is_valid_at(proposal.log_size) for role in root.verifiers)
    end = " Restart the coordinator to log it." if proposal.is_complete else ""
    click.echo(
        f"Root version {root.version}: {counted(count, 'verifier')}, of whom {root.witness_threshold} must cosign.{end}"
    )
    if not proposal.is_complete:
        tell_missing(where)
    return 0


def _sign_file(file: Path, key_file: Path | None, yes: bool) -> int:
    from node.disk.files import write_file
    from node.disk.keyring import load_key
    from node.founding.ceremony import read_proposal
    from node.founding.errors import ProposalError

    proposal = read_proposal(file)
    if key_file is None:
        raise ProposalError("Say which root key signs: --key KEYFILE.")
    secret = load_key(key_file)
    signed = proposal.signed(secret)
    if not confirm([proposal], yes):
        return NO
    write_file(file, signed.encode())
    click.echo(f"{signed.name} is signed by {secret.public.hex()}; {signed.missing or 'enough keys have signed'}.")
    return 0


def _sign_waiting(home: "Home", key_file: Path | None, yes: bool) -> int:
    from node.founding.ceremony import keep, signable, signing_key
    from node.founding.errors import FoundingError

    secret = signing_key(home, key_file)
    if secret is None:
        raise FoundingError(f"{home.directory}: no root key is here; say which one signs: --key KEYFILE.")
    waiting = signable(home, secret)
    if not confirm(waiting, yes):
        return NO
    for proposal in waiting:  # what was shown, and nothing that was put there since
        keep(home, proposal.signed(secret))
        click.echo(f"{proposal.name} is signed by {secret.public.hex()}.")
    tell_missing(home.directory)
    return 0
