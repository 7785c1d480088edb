"""`gonode mirror`: a copy of a run's public folder, once or kept up to date."""

from pathlib import Path
from typing import Any

import click

from node.cli.options import blob_limits, lan_option, listen_options, node_of, ticket_argument
from node.cli.output import output_options


@click.command()
@ticket_argument
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--once", is_flag=True, help="Copy what the newest cosigned head names, and end.")
@listen_options
@blob_limits
@lan_option
@output_options
def mirror(ticket: str, directory: Path, once: bool, output: Any, **peering: Any) -> int:
    """Copy the run of TICKET to DIRECTORY/public, for audits and for web servers, and keep the copy up to date."""
    from node.roles import run_mirror

    return run_mirror(node_of(ticket, directory, output, disk=None, **peering), once)
