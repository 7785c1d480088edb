"""`gonode root rotate` and `gonode root revoke`: the root versions that replace keys or make one void."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.ceremony import Signing, directory_argument, log_index, parse_key_request, run_home, signing_options

if TYPE_CHECKING:
    from node.founding.logged import Logged
    from node.founding.proposal import Proposal
    from protocol.root import Role, Root


@click.command()
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
    type=log_index(),
    metavar="INDEX",
    help="The old coordinator's key counts below this log entry; default: a while, so that signatures can be collected.",
)
@signing_options
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
    from node.founding.errors import ProposalError
    from node.founding.root_changes import with_coordinator, with_keys
    from node.founding.succession import prepare_key

    if not (added or dropped or threshold or coordinator):
        raise ProposalError("Nothing is to be changed: give --root-key, --drop, --threshold or --coordinator.")
    if until is not None and coordinator is None:
        raise ProposalError("--until is about the coordinator's old key, and --coordinator is not given.")
    home = run_home(directory)
    signing = Signing.given(home, key_file, yes, instead)
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

    signing.propose(change)
    return 0


@click.command()
@directory_argument
@click.argument("role_key", metavar="KEY")
@click.option(
    "--from",
    "index",
    type=log_index(),
    metavar="INDEX",
    help="What the key signed from this log entry on is void; default: from now on.",
)
@signing_options
def revoke(directory: Path, role_key: str, index: int | None, key_file: Path | None, yes: bool, instead: bool) -> int:
    """Revoke the key of a verifier or coordinator, and say what that makes void."""
    from node.founding.revocation import describe_void
    from node.founding.root_changes import with_end

    home = run_home(directory)
    key = parse_key_request(role_key, "verifier or coordinator")

    def tell(proposal: "Proposal") -> None:
        assert proposal.root is not None
        role = proposal.root.find(key)
        assert role is not None
        click.echo("\n".join(describe_void(home, role)))

    def change(before: "Root", logged: "Logged") -> "tuple[Root, list[Role]]":
        return before, with_end(before.roles, key, logged.size if index is None else index)

    Signing.given(home, key_file, yes, instead).propose(change, tell)
    return 0
