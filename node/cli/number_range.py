"""Options that are numbers within bounds: `NumberRange`."""

from typing import Any

import click


class NumberRange(click.FloatRange):
    """As click's, which lets NaN pass every bound; here it is bad input."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See the base; raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number
