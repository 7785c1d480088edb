"""`gonode export`: games and weights in the formats of other programs."""

import click

from node.cli.export_leela_zero import leela_zero
from node.cli.export_npz import npz
from node.cli.export_sgf import sgf
from node.cli.export_weights import weights


@click.group()
def export() -> None:
    """Write games and weights for other programs."""


export.add_command(leela_zero)
export.add_command(npz)
export.add_command(sgf)
export.add_command(weights)
