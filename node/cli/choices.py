"""The options `--preset` and `--set` of the commands that take a run's settings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from node.founding.layers import Choices


def choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--preset NAME` (`presets`) and `--set KEY=VALUE` (`settings`), both repeatable."""
    preset = click.option(
        "--preset", "presets", multiple=True, metavar="NAME", help="Lay a preset on top, such as 9x9; repeatable."
    )
    setting = click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set one key, such as window.floor_rows=50000."
    )
    return preset(setting(command))


def parse_choices(presets: tuple[str, ...], settings: tuple[str, ...]) -> "Choices":
    """What the two options gave."""
    from node.founding.layers import Choices

    return Choices(presets, settings)
