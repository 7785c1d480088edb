"""`gonode coordinate`: lead a run, from the directory that `gonode run init` made."""

from pathlib import Path
from typing import Any

import click

from node.cli.options import announced, blob_limits, engine_of, lan_option, listened
from node.cli.output import output_options


def _shape(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from native.netfile import Architecture

    return None if value is None else Architecture.parse(value).encode()


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=1, show_default=True, help="Threads of its own player."
)
@click.option(
    "--listen",
    multiple=True,
    callback=listened,
    help="Multiaddr to listen at, repeatable; default: the ticket's address.",
)
@click.option(
    "--announce",
    multiple=True,
    callback=announced,
    help="Multiaddr where others reach it, repeatable; told in the place of those listened at.",
)
@click.option("--grow", metavar="NET", callback=_shape, help="Begin a network of another size, as b6c96, next cycle.")
@click.option(
    "--train-device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="What trains.",
)
@blob_limits
@lan_option
@output_options
def coordinate(
    directory: Path,
    kernel: str | None,
    threads: int,
    listen: tuple[str, ...],
    announce: tuple[str, ...],
    grow: str | None,
    train_device: str,
    up: int | None,
    down: int | None,
    lan: bool,
    output: Any,
) -> int:
    """Coordinate the run in DIRECTORY, made by `gonode run init`."""
    from node.blobs.options import BlobOptions
    from node.blobs.work import in_thread
    from node.disk.home import Home
    from node.peering.reachability import UseRelays
    from node.roles import Peering, run_coordinator

    peering = Peering(listen, announce, lan, UseRelays.NEVER, BlobOptions(up, down, work=in_thread))
    return run_coordinator(Home(directory), engine_of(kernel, threads, 1), output, peering, grow, train_device)
