"""`gonode proof show|check FILE`: fraud proofs that anybody can check with one search."""

import json
from pathlib import Path

import click

from node.cli.main import NO


@click.group()
def proof() -> None:
    """Show and check fraud proofs."""


@proof.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def show(file: Path) -> int:
    """Say what the proof in FILE claims, with the position, without believing it."""
    from node.audits.proof_files import ProofFileError, read_proof
    from node.audits.proof_text import describe_proof
    from protocol.errors import ProtocolError

    try:
        click.echo(describe_proof(read_proof(file)))
    except ProtocolError as error:
        raise ProofFileError(f"{file}: what this proof is about cannot be read: {error}") from None
    return 0


@proof.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), help="A node's directory with blobs."
)
@click.option("--ticket", help="The run: its peers are asked for the network.")
@click.option(
    "--network", "files", type=click.Path(path_type=Path, dir_okay=False), multiple=True, help="A network's file."
)
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def check(
    file: Path,
    directory: Path | None,
    ticket: str | None,
    files: tuple[Path, ...],
    kernel: str | None,
    as_json: bool,
) -> int:
    """Check the proof in FILE: every signature, every inclusion, and one search."""
    from native.canary import verify_kernel
    from node.audits.proof_files import check_proof_file, read_proof
    from node.audits.proof_networks import ProofNetworks
    from node.cli.options import parse_kernel

    chosen = parse_kernel(kernel)
    verify_kernel(chosen)
    networks = ProofNetworks(read_proof(file), files, directory, ticket)
    answer = check_proof_file(file, networks.run, networks, chosen)
    click.echo(json.dumps(answer.to_json()) if as_json else answer.sentence)
    return 0 if answer.holds else NO
