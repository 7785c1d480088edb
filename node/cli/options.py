"""The options that several commands share, and what becomes of their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from node.cli.output import output_options


def blob_limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that limit how fast blobs leave and come."""
    for name, what in (("--down", "come"), ("--up", "leave")):
        option = click.option(
            name, metavar="RATE", callback=_rate, help=f"Most bytes of blobs that {what} a second, as 500k or 2M."
        )
        command = option(command)
    return command


lan_option = click.option("--lan/--no-lan", default=True, show_default=True, help="Find nodes of the run on the LAN.")


NO_TICKET = (
    "A ticket is needed: a text that begins with gonode1 (or the name of a file that holds it), which names a run and where "
    "it is reached. Whoever coordinates the run hands it out. Then: gonode {} TICKET{}."
)
OTHERWISE = {
    "join": " If the run is for those who are invited, an invite comes with it: --invite FILE. To give the ticket once and "
    "for all, with what this machine shall do: gonode setup. To try a whole run here, without a ticket: gonode local."
}


def _ticket(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value is None:
        name = context.command_path.partition(" ")[2]
        more = {"keys replace": " --recovery FILE"}.get(name, "")
        raise click.UsageError(NO_TICKET.format(name, more) + OTHERWISE.get(name, ""))
    return value


ticket_argument = click.argument("ticket", metavar="TICKET", required=False, callback=_ticket)


def listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where a node is reached."""
    for option in (
        click.option(
            "--announce",
            multiple=True,
            callback=announced,
            help="Multiaddr where others reach this node, repeatable; told in the place of those listened at.",
        ),
        click.option(
            "--listen",
            multiple=True,
            default=("/ip4/0.0.0.0/tcp/0",),
            show_default=True,
            callback=listened,
            help="Multiaddr to listen at, repeatable; or `none`.",
        ),
    ):
        command = option(command)
    return command


def peering_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The ticket and the options of every node that joins a run by it."""
    command = output_options(command)
    for option in (
        lan_option,
        listen_options,
        click.option(
            "--disk",
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
            "--in-flight", type=click.IntRange(1, 1024), help="Games in flight on each thread; default as --threads."
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


def listened(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Click's callback of `--listen`: multiaddrs, or none of them for the word `none`."""
    from node.founding.listening import check_address

    if values == (NOWHERE,) and context.info_name != "coordinate":
        return ()
    for value in values:
        check_address(value)
    return values


def announced(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Click's callback of `--announce`: multiaddrs that others can dial."""
    from node.peering.addresses import check_announced

    for value in values:
        check_announced(value)
    return values


def engine_of(
    kernel: str | None,
    threads: int | None,
    games: int | None,
    device: str = "cpu",
    nice: int = 0,
    cores: int | None = None,
) -> Any:
    """The `node.engine.settings.EngineSettings` that the options ask for."""
    from node.engine.settings import engine_settings

    return engine_settings(parse_kernel(kernel), threads, games, device, nice, cores)


def role_of(engine: Any, ticket: str, directory: Path | None, output: Any, peering: dict[str, Any]) -> Any:
    """The `node.roles.RoleOptions` of a node that plays; `peering` is what else `peering_options` gave."""
    from node.roles import RoleOptions

    node = node_of(ticket, directory, output, **peering)
    return RoleOptions(node.home, node.ticket, node.output, node.peering, engine)


def node_of(
    ticket: str,
    directory: Path | None,
    output: Any,
    up: int | None,
    down: int | None,
    disk: int | None,
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
        home, ticket, output, Peering(**peering, relays=UseRelays(relay), blobs=BlobOptions(up, down, disk, in_thread))
    )


def parse_kernel(name: str | None) -> Any:
    """The kernel called `name`, or the machine's fastest."""
    from native.network import Kernel

    return Kernel.best() if name is None else Kernel.parse(name)
