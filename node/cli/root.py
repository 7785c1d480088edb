"""`gonode root ...`: the offline keys of a run, and the changes that a threshold of them signs (docs/ceremonies.md)."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from node.cli.main import NO
from node.cli.run import agreement, instead_option, parse_key_request, replacement, tell_missing

if TYPE_CHECKING:
    from node.disk.home import Home
    from node.founding.logged import Logged
    from node.founding.proposal import Proposal
    from protocol.root import Role, Root

key_option = click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of the root key to sign with; default: the one in DIR, if it is there.",
)
yes_option = click.option("--yes", is_flag=True, help="Sign without asking.")
directory_argument = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))


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
@click.argument("where", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--manifest", is_flag=True, help="Print the whole manifest as TOML instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(where: Path, manifest: bool, as_json: bool) -> int:
    """Say what a proposal FILE asks to be signed, or what the root of the run in DIR says and what waits there."""
    from node.founding.ceremony import proposals, read_proposal
    from node.founding.manifest_file import table_of_manifest
    from node.founding.proposal_text import describe_proposal, describe_root, name_version
    from node.founding.toml_text import encode_toml

    if where.is_file():
        found = [read_proposal(where)]
        current = found[0].before or found[0].root
        terms = found[0].manifest or found[0].manifest_before
    else:
        from node.disk.home import Home
        from node.founding.logged import read_logged

        Home(where).load_ticket()
        logged = read_logged(Home(where))
        found, current, terms = proposals(Home(where)), logged.root, logged.manifest
    assert current is not None
    assert terms is not None
    if manifest:
        click.echo(encode_toml(table_of_manifest(terms)), nl=False)
    elif as_json:
        click.echo(json.dumps({"root": _root_object(current), "asked": [_proposal_object(each) for each in found]}))
    elif where.is_file():
        click.echo("\n".join(describe_proposal(found[0])))
    else:
        click.echo("\n".join([f"{name_version(current)}:", *describe_root(current)]))
        click.echo(f"{name_version(terms)}: --manifest prints it.")
        for each in found:
            click.echo("\n" + "\n".join(describe_proposal(each)))
    return 0


@root.command()
@click.argument("where", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--verifier", "verifiers", multiple=True, metavar="KEY", help="A key request; repeatable.")
@click.option(
    "--expires", type=click.IntRange(1, 2**63 - 1), metavar="INDEX", help="Their roles end at this log entry."
)
@key_option
@yes_option
@instead_option
def sign(
    where: Path, verifiers: tuple[str, ...], expires: int | None, key_file: Path | None, yes: bool, instead: bool
) -> int:
    """Sign a proposal FILE with a root key; or approve verifiers of the run in DIR; or sign what waits in DIR."""
    from node.disk.home import Home
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
    home = Home(where)
    if not verifiers:
        return _sign_waiting(home, key_file, yes)
    if not home.ticket.exists():
        raise FoundingError(f"{where}: no run is here; make one: gonode run init")
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


@root.command()
@directory_argument
@click.option(
    "--root-key", "added", multiple=True, metavar="KEY", help="A new root key (gonode root init); repeatable."
)
@click.option("--drop", "dropped", multiple=True, metavar="KEY", help="A root key that signs nothing more; repeatable.")
@click.option("--threshold", type=click.IntRange(1), help="How many root keys have to sign from then on.")
@click.option(
    "--coordinator",
    metavar="new|KEY",
    help="Replace the coordinator's key: `new` makes one in DIR, KEY was made on another machine.",
)
@click.option(
    "--until",
    type=click.IntRange(0, 2**63 - 1),
    metavar="INDEX",
    help="The old coordinator's key counts below this log entry; default: a while, so that signatures can be collected.",
)
@key_option
@yes_option
@instead_option
def rotate(
    directory: Path,
    added: tuple[str, ...],
    dropped: tuple[str, ...],
    threshold: int | None,
    coordinator: str | None,
    until: int | None,
    key_file: Path | None,
    yes: bool,
    instead: bool,
) -> int:
    """Replace root keys, their threshold, or the coordinator's key."""
    from node.disk.home import Home
    from node.founding.ceremony import propose_root, signing_key
    from node.founding.errors import ProposalError
    from node.founding.root_changes import with_coordinator, with_keys
    from node.founding.succession import prepare_key

    if not (added or dropped or threshold or coordinator):
        raise ProposalError("Nothing is to be changed: give --root-key, --drop, --threshold or --coordinator.")
    if until is not None and coordinator is None:
        raise ProposalError("--until is about the coordinator's old key, and --coordinator is not given.")
    home = Home(directory)
    home.load_ticket()
    secret = signing_key(home, key_file)
    new, old = ([parse_key_request(text, "root") for text in keys] for keys in (added, dropped))
    successor = None
    if coordinator is not None:
        successor = prepare_key(home) if coordinator == "new" else parse_key_request(coordinator, "coordinator")

    def change(before: "Root", logged: "Logged") -> "tuple[Root, list[Role]]":
        changed = with_keys(before, new, old, threshold)
        roles = list(before.roles)
        if successor is not None:
            end = logged.size + logged.manifest.admission.exit_entries if until is None else until
            roles = with_coordinator(roles, successor, end)
        return changed, roles

    propose_root(home, change, secret, agreement(secret is not None and not yes), replacement(instead))
    tell_missing(directory)
    return 0


@root.command()
@directory_argument
@click.argument("role_key", metavar="KEY")
@click.option(
    "--from",
    "index",
    type=click.IntRange(0, 2**63 - 1),
    metavar="INDEX",
    help="What the key signed from this log entry on is void; default: from now on.",
)
@key_option
@yes_option
@instead_option
def revoke(directory: Path, role_key: str, index: int | None, key_file: Path | None, yes: bool, instead: bool) -> int:
    """Revoke the key of a verifier or coordinator, and say what that makes void."""
    from node.disk.home import Home
    from node.founding.ceremony import propose_root, signing_key
    from node.founding.revocation import describe_void
    from node.founding.root_changes import with_end

    home = Home(directory)
    home.load_ticket()
    key = parse_key_request(role_key, "verifier or coordinator")
    secret = signing_key(home, key_file)
    agree = agreement(secret is not None and not yes)

    def shown(proposal: "Proposal") -> bool:
        assert proposal.root is not None
        role = proposal.root.find(key)
        assert role is not None
        click.echo("\n".join(describe_void(home, role)))
        return agree(proposal)

    def change(before: "Root", logged: "Logged") -> "tuple[Root, list[Role]]":
        return before, with_end(before.roles, key, logged.size if index is None else index)

    propose_root(home, change, secret, shown, replacement(instead))
    tell_missing(directory)
    return 0


@root.command()
@directory_argument
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
def collect(directory: Path, files: tuple[Path, ...]) -> int:
    """Bring signed proposals back: add their signatures to what waits in the coordinator's DIR.

    In the directory of another node of the run, such as a verifier's, a complete root version is kept, so that the node
    knows it at its next start, whether the coordinator logs it or not.
    """
    from node.disk.home import Home
    from node.founding.ceremony import adopt, collect

    home = Home(directory)
    home.load_ticket()
    is_coordinator = (directory / "manifest").exists()
    taken = [(collect if is_coordinator else adopt)(home, file) for file in files]
    for proposal in taken:
        click.echo(f"{proposal.name}: {proposal.missing or 'enough keys have signed'}.")
    if is_coordinator:
        tell_missing(directory)
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
    if not _agree([proposal], yes):
        return NO
    write_file(file, signed.encode())
    click.echo(f"{signed.name} is signed by {secret.public.hex()}; {signed.missing or 'enough keys have signed'}.")
    return 0


def _sign_waiting(home: "Home", key_file: Path | None, yes: bool) -> int:
    from node.founding.ceremony import sign_waiting, signable, signing_key
    from node.founding.errors import FoundingError

    if not home.ticket.exists():
        raise FoundingError(f"{home.directory}: no run is here; make one: gonode run init")
    secret = signing_key(home, key_file)
    if secret is None:
        raise FoundingError(f"{home.directory}: no root key is here; say which one signs: --key KEYFILE.")
    if not _agree(signable(home, secret), yes):
        return NO
    for proposal in sign_waiting(home, secret):
        click.echo(f"{proposal.name} is signed by {secret.public.hex()}.")
    tell_missing(home.directory)
    return 0


def _agree(proposals: "list[Proposal]", yes: bool) -> bool:
    """Shows what is to be signed, and asks unless `yes`."""
    from node.disk.passphrase import is_terminal
    from node.founding.errors import ProposalError
    from node.founding.proposal_text import describe_proposal

    if not yes and not is_terminal():
        raise ProposalError(
            "Nobody can be asked here: read what is to be signed (gonode root show), then sign with --yes."
        )
    for proposal in proposals:
        click.echo("\n".join(describe_proposal(proposal)), err=True)
    return yes or click.confirm("Sign this?", default=False, err=True)


def _root_object(root: "Root") -> dict[str, Any]:
    return {
        "version": root.version,
        "threshold": root.threshold,
        "keys": [key.hex() for key in root.keys],
        "witness_threshold": root.witness_threshold,
        "roles": [
            {
                "role": role.role,
                "key": role.key.hex(),
                "name": role.name,
                "expires": _index(role.expires),
                "invalid_from": _index(role.invalid_from),
            }
            for role in root.roles
        ],
    }


def _index(index: int) -> int | None:
    from protocol.types import UNSET

    return None if index == UNSET else index


def _proposal_object(proposal: "Proposal") -> dict[str, Any]:
    return {
        "run": proposal.run.hex(),
        "name": proposal.name,
        "signed": [key.hex() for key in proposal.signers],
        "missing": proposal.missing,
        "root": None if proposal.root is None else _root_object(proposal.root),
        "manifest": None if proposal.manifest is None else proposal.manifest.digest().hex(),
    }
