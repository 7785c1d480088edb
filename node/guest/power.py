"""Play that leaves a battery alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class OnMains:
    """Play rests while a battery is drained."""

    name: ClassVar[str] = "on-battery"
    is_on_battery: Callable[[], bool]

    def waiting_for(self) -> str | None:
        """See `Rule.waiting_for`."""
        return "mains power (--on-battery yes plays without it)" if self.is_on_battery() else None
