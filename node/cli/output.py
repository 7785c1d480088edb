"""The options that say what a running node prints, and where it serves metrics."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

LEVELS = ("debug", "info", "warning", "error")


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    from node.metrics.address import MetricsAddress, MetricsFault

    try:
        return None if value is None else MetricsAddress.parse(value)
    except MetricsFault as fault:
        raise click.BadParameter(str(fault)) from None


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--json`, `--plain`, `--log-level` and `--metrics`; the command gets them together, as `output`."""

    @wraps(command)
    def gathered(as_json: bool, plain: bool, log_level: str, metrics: Any, **values: Any) -> Any:
        from node.screen.level import Level
        from node.screen.screen import Output

        return command(output=Output(as_json, plain, Level[log_level.upper()], metrics), **values)

    made: Callable[..., Any] = gathered
    for option in (
        click.option(
            "--metrics",
            metavar="[ADDRESS:]PORT",
            callback=_address,
            help="Serve metrics for Prometheus there, at /metrics; without an address on loopback; default: not at all.",
        ),
        click.option(
            "--log-level",
            type=click.Choice(LEVELS),
            default="info",
            show_default=True,
            help="Print events from this level on; not with --json, which prints all.",
        ),
        click.option("--plain", is_flag=True, help="Print lines on a terminal too, instead of a panel with keys."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object a line."),
    ):
        made = option(made)
    return made
