"""`gonode root show`: what a run's root says and what waits for signatures, for people or as JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from node.founding.proposal import Proposal
    from protocol.root import Root


@click.command()
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
        found, current, terms = proposals(Home(where), logged), logged.root, logged.manifest
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
