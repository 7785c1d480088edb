"""Play that backs off from heat.

Invariant: between the limit and `GAP_C` below it what was decided last counts, so that play does not flicker with a fan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

GAP_C: Final = 5
"""How far below the limit the machine has to cool down before play goes on."""


@dataclass(slots=True)
class Cool:
    """Play rests from `limit_c` on, until it is `GAP_C` cooler. What has no sensor is never hot."""

    name: ClassVar[str] = "max-temp"
    limit_c: float
    hottest_c: Callable[[], float | None]
    is_hot: bool = False

    def waiting_for(self) -> str | None:
        """See `Rule.waiting_for`."""
        now_c = self.hottest_c()
        self.is_hot = now_c is not None and now_c >= (self.limit_c - GAP_C if self.is_hot else self.limit_c)
        if not self.is_hot:
            return None
        return f"the processor to cool below {self.limit_c - GAP_C:g} degrees (--max-temp {self.limit_c:g})"
