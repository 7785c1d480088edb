"""The options that say when a contributor plays and how much, as its owner wants it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from node.cli.number_range import NumberRange


def _hours(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    from node.guest.hours import Hours

    try:
        return None if value is None else Hours.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def guest_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a guest; the command gets them together, as `guest`, a `node.guest.options.GuestOptions`."""

    @wraps(command)
    def gathered(
        hours: Any,
        on_idle: bool,
        on_battery: str,
        max_temp: float | None,
        minutes: float | None,
        games: int | None,
        **values: Any,
    ) -> Any:
        from node.guest.budget import Budget
        from node.guest.options import GuestOptions

        guest = GuestOptions(hours, on_idle, on_battery == "yes", max_temp, Budget(minutes, games))
        return command(guest=guest, **values)

    made: Callable[..., Any] = gathered
    for option in (
        click.option("--games", type=click.IntRange(1), metavar="N", help="Drain once so many games are finished."),
        click.option(
            "--minutes",
            type=NumberRange(0, min_open=True),
            metavar="M",
            help="Drain so many minutes after the start.",
        ),
        click.option(
            "--max-temp",
            type=NumberRange(20, 120),
            metavar="C",
            help="Rest when the processor has so many degrees Celsius, until it has 5 less.",
        ),
        click.option(
            "--on-battery",
            type=click.Choice(["no", "yes"]),
            default="no",
            show_default=True,
            help="Whether to play on battery power.",
        ),
        click.option("--on-idle", is_flag=True, help="Rest while somebody uses this machine."),
        click.option("--hours", metavar="FROM-TO", callback=_hours, help="Play in these hours only, as 22-7."),
    ):
        made = option(made)
    return made
