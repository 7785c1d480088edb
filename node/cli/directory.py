"""The option `--dir` of commands that read a run which is there: `of_run`."""

from pathlib import Path

import click

of_run = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo/coordinator"),
    show_default=True,
    help="The directory of a node that has the run.",
)
