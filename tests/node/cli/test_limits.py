"""--up, --down and --disk: what they take, and what they say of anything else."""

import click
import pytest
from click.testing import CliRunner

from node.cli.coordinate import coordinate
from node.cli.join import join
from node.cli.options import blob_limits
from node.cli.verify import verify


@click.command()
@blob_limits
def limited(up: int | None, down: int | None) -> None:
    """Shows what it was given."""
    click.echo(f"{up} {down}")


def test_rates() -> None:
    assert CliRunner().invoke(limited, ["--up", "500k", "--down", "2M"]).output == "512000 2097152\n"
    assert CliRunner().invoke(limited, []).output == "None None\n"


@pytest.mark.parametrize(
    ("command", "first"), [(join, "ticket"), (verify, "ticket"), (coordinate, "directory")], ids=str
)
@pytest.mark.parametrize(("option", "value"), [("--up", "fast"), ("--down", "100"), ("--up", "2MB")])
def test_what_is_no_rate(command: click.Command, first: str, option: str, value: str) -> None:
    result = CliRunner().invoke(command, [first, option, value])
    assert result.exit_code == 2
    assert option in result.output
    assert value in result.output


def test_what_is_no_size() -> None:
    result = CliRunner().invoke(join, ["ticket", "--disk", "much"])
    assert result.exit_code == 2
    assert "'much' is not a number of bytes" in result.output
