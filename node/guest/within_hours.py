"""Play in some hours of the day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from node.guest.hours import Hours, time_of


@dataclass(frozen=True, slots=True)
class WithinHours:
    """Play rests outside of `hours`."""

    name: ClassVar[str] = "hours"
    hours: Hours
    local_time: Callable[[], datetime]

    def waiting_for(self) -> str | None:
        """See `Rule.waiting_for`."""
        now = self.local_time()
        if self.hours.is_within(60 * now.hour + now.minute):
            return None
        return f"{time_of(self.hours.first)} o'clock (--hours {self.hours.encode()})"
