"""`gonode proof show|check FILE`: fraud proofs that anybody can check with one search."""

from pathlib import Path

import click

from node.cli.main import NO


@click.group()
def proof() -> None:
    """Show and check fraud proofs."""


@proof.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def show(file: Path) -> int:
    """Say what the proof in FILE claims, without believing it."""
    from node.audits.proof_files import describe_proof, read_proof

    click.echo(describe_proof(read_proof(file)))
    return 0


@proof.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path, file_okay=False), help="A node's directory with blobs."
)
@click.option("--network", type=click.Path(path_type=Path, dir_okay=False), help="The release's network file.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
def check(file: Path, directory: Path | None, network: Path | None, kernel: str | None) -> int:
    """Check the proof in FILE: every signature, every inclusion, and one search."""
    from native.canary import verify_kernel
    from node.audits.proof_files import check_proof_file
    from node.cli.roles import parse_kernel

    chosen = parse_kernel(kernel)
    verify_kernel(chosen)
    holds, sentence = check_proof_file(file, directory, network, chosen)
    click.echo(sentence)
    return 0 if holds else NO
