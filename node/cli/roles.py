"""`gonode join`, `gonode verify` and `gonode coordinate`: the roles of a run, one process each."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def blob_limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that limit how fast blobs leave and come."""
    for name, what in (("--down", "come"), ("--up", "leave")):
        option = click.option(
            name, metavar="RATE", callback=_rate, help=f"Most bytes of blobs that {what} a second, as 500k or 2M."
        )
        command = option(command)
    return command


json_lines = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
lan_option = click.option("--lan/--no-lan", default=True, show_default=True, help="Find nodes of the run on the LAN.")


def _ticket(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value is None:
        name = context.command_path.partition(" ")[2]
        more = {"join": " --invite FILE", "keys replace": " --recovery FILE"}.get(name, "")
        raise click.UsageError(
            f"A ticket is needed, which the run's coordinator hands out: gonode {name} TICKET{more}."
        )
    return value


ticket_argument = click.argument("ticket", metavar="TICKET", required=False, callback=_ticket)


def listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where a node is reached."""
    for option in (
        click.option(
            "--announce",
            multiple=True,
            callback=_announced,
            help="Multiaddr where others reach this node, repeatable; told in the place of those listened at.",
        ),
        click.option(
            "--listen",
            multiple=True,
            default=("/ip4/0.0.0.0/tcp/0",),
            show_default=True,
            callback=_addresses,
            help="Multiaddr to listen at, repeatable; or `none`.",
        ),
    ):
        command = option(command)
    return command


def peering_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The ticket and the options of every node that joins a run by it."""
    for option in (
        json_lines,
        lan_option,
        listen_options,
        click.option(
            "--keep",
            metavar="SIZE",
            default="10G",
            show_default=True,
            callback=_size,
            help="Blobs that nothing needs any more are deleted over this size, as 500M or 10G.",
        ),
        blob_limits,
        click.option(
            "--dir",
            "directory",
            type=click.Path(path_type=Path, file_okay=False),
            help="The node's directory; default: one a run below ~/.gonode.",
        ),
        ticket_argument,
    ):
        command = option(command)
    return command


def role_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that contributors and verifiers share."""
    for option in (
        click.option(
            "--relay",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="When to be reached through relays; auto: while nobody dials this node.",
        ),
        click.option(
            "--games", type=click.IntRange(1, 1024), help="Games in flight on each thread; default as --threads."
        ),
        click.option(
            "--threads",
            type=click.IntRange(1, 1024),
            help="Engine threads; default: as `gonode bench` found, else one a core.",
        ),
        click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine."),
    ):
        command = option(command)
    return peering_options(command)


def _name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from typing import get_args

    from protocol.types import Name

    fault = None if value is None else get_args(Name)[1].fault(value)
    if fault is not None:
        raise click.BadParameter(f"the name {fault}.")
    return value


def _shape(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from native.netfile import Architecture

    return None if value is None else Architecture.parse(value).encode()


def _recovery(context: click.Context, parameter: click.Parameter, value: str | None) -> bytes:
    from node.contributor.replacing import recovery_hash_of

    return b"" if value is None else recovery_hash_of(value)


def _rate(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    from node.blobs.throttle import parse_rate

    return None if value is None else _parsed(parse_rate, value)


def _size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    from node.blobs.throttle import parse_size

    return _parsed(parse_size, value)


def _parsed(parse: Callable[[str], int], value: str) -> int:
    try:
        return parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


NOWHERE = "none"


def _addresses(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from node.founding.listening import check_address

    if values == (NOWHERE,) and context.info_name != "coordinate":
        return ()
    for value in values:
        check_address(value)
    return values


def _announced(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from node.peering.addresses import check_announced

    for value in values:
        check_announced(value)
    return values


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
    games: int | None,
    as_json: bool,
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
    engine = _engine(kernel, threads, games, device, nice)
    return run_contributor(_role(engine, ticket, directory, as_json, peering), invite, name, recovery)


@click.command()
@role_options
@click.option("--request", is_flag=True, help="Print this verifier's key for the root's holder, and end.")
def verify(
    ticket: str,
    directory: Path | None,
    kernel: str | None,
    threads: int | None,
    games: int | None,
    as_json: bool,
    request: bool,
    **peering: Any,
) -> int:
    """Verify and witness the run of TICKET, as one of its trusted members."""
    options = _role(_engine(kernel, threads, games), ticket, directory, as_json, peering)
    if request:
        from node.disk.keyring import load_or_create_key

        key = load_or_create_key(options.home.key("verifier")).public.hex()
        click.echo(json.dumps({"event": "request", "key": key}) if as_json else key)
        return 0
    from node.roles import run_verifier

    return run_verifier(options)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option(
    "--threads", type=click.IntRange(1, 1024), default=1, show_default=True, help="Threads of its own player."
)
@click.option(
    "--listen",
    multiple=True,
    callback=_addresses,
    help="Multiaddr to listen at, repeatable; default: the ticket's address.",
)
@click.option(
    "--announce",
    multiple=True,
    callback=_announced,
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
@json_lines
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
    as_json: bool,
) -> int:
    """Coordinate the run in DIRECTORY, made by `gonode run init`."""
    from node.blobs.options import BlobOptions
    from node.blobs.work import in_thread
    from node.disk.home import Home
    from node.peering.reachability import UseRelays
    from node.roles import Peering, run_coordinator

    peering = Peering(listen, announce, lan, UseRelays.NEVER, BlobOptions(up, down, work=in_thread))
    return run_coordinator(Home(directory), _engine(kernel, threads, 1), as_json, peering, grow, train_device)


def _engine(kernel: str | None, threads: int | None, games: int | None, device: str = "cpu", nice: int = 0) -> Any:
    from node.engine.settings import engine_settings

    return engine_settings(parse_kernel(kernel), threads, games, device, nice)


def _role(engine: Any, ticket: str, directory: Path | None, as_json: bool, peering: dict[str, Any]) -> Any:
    from node.roles import RoleOptions

    node = node_of(ticket, directory, as_json, **peering)
    return RoleOptions(node.home, node.ticket, node.as_json, node.peering, engine)


def node_of(
    ticket: str,
    directory: Path | None,
    as_json: bool,
    up: int | None,
    down: int | None,
    keep: int | None,
    relay: str = "never",
    **peering: Any,
) -> Any:
    """The `node.roles.NodeOptions`; `peering` is what else `peering_options` gave."""
    from node.blobs.options import BlobOptions
    from node.blobs.work import in_thread
    from node.disk.home import HOMES, Home, read_ticket
    from node.peering.reachability import UseRelays
    from node.roles import NodeOptions, Peering

    run = read_ticket(ticket).run.hex()
    home = Home(directory or HOMES.expanduser() / run[:16])
    return NodeOptions(
        home, ticket, as_json, Peering(**peering, relays=UseRelays(relay), blobs=BlobOptions(up, down, keep, in_thread))
    )


def parse_kernel(name: str | None) -> Any:
    """The kernel called `name`, or the machine's fastest."""
    from native.network import Kernel

    return Kernel.best() if name is None else Kernel.parse(name)
