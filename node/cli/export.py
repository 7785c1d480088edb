"""`gonode export`: games in the formats of other programs."""

import click

from node.cli.export_leela_zero import leela_zero


@click.group()
def export() -> None:
    """Write games for other programs."""


export.add_command(leela_zero)
