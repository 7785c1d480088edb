"""`gonode relay`: a public node without a role."""

from pathlib import Path
from typing import Any

import click

from node.cli.options import node_of, peering_options


@click.command()
@peering_options
def relay(ticket: str, directory: Path | None, output: Any, **peering: Any) -> int:
    """Serve the run of TICKET: its log, its newest networks, and ways to nodes that cannot be dialed."""
    from node.roles import run_relay

    return run_relay(node_of(ticket, directory, output, **peering))
