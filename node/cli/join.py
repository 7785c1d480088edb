"""`gonode join`: contribute self-play games to a run."""

from pathlib import Path
from typing import Any

import click

from node.cli.guest import guest_options
from node.cli.options import engine_of, role_of, role_options


def _name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from typing import get_args

    from protocol.types import Name

    fault = None if value is None else get_args(Name)[1].fault(value)
    if fault is not None:
        raise click.BadParameter(f"the name {fault}.")
    return value


def _recovery(context: click.Context, parameter: click.Parameter, value: str | None) -> bytes:
    from node.contributor.replacing import recovery_hash_of

    return b"" if value is None else recovery_hash_of(value)


@click.command()
@role_options
@click.option("--invite", type=click.Path(path_type=Path, dir_okay=False), help="File with an invite.")
@click.option("--name", callback=_name, help="The name that pages show.")
@click.option(
    "--recovery",
    metavar="HASH|FILE",
    callback=_recovery,
    help="The recovery key, by its hash or its file, that may replace this key once; default: none.",
)
@guest_options
@click.option("--cores", type=click.IntRange(1, 1024), metavar="N", help="Play with at most so many threads.")
@click.option("--nice", type=click.IntRange(0, 19), default=0, show_default=True, help="Give way to other processes.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="What evaluates; cuda needs the extra `train`.",
)
def join(
    ticket: str,
    directory: Path | None,
    kernel: str | None,
    threads: int | None,
    in_flight: int | None,
    output: Any,
    guest: Any,
    cores: int | None,
    invite: Path | None,
    name: str | None,
    recovery: bytes,
    nice: int,
    device: str,
    **peering: Any,
) -> int:
    """Contribute self-play games to the run of TICKET."""
    from node.engine.settings import CPU
    from node.roles import run_contributor

    if kernel is not None and device != CPU:
        raise click.UsageError(f"A kernel is a processor's: --kernel does not go with --device {device}.")
    if cores is not None and threads is not None and threads > cores:
        raise click.UsageError(f"--threads {threads} are more than --cores {cores} allows.")
    engine = engine_of(kernel, threads, in_flight, device, nice, cores)
    return run_contributor(role_of(engine, ticket, directory, output, peering), invite, name, recovery, guest)
