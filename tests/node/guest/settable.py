"""Readings that tests set."""

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Settable:
    """See `node.guest.readings.Readings`: a quiet, cool machine on mains power at noon."""

    now: datetime = datetime(2026, 3, 1, 12)
    on_battery: bool = False
    temp_c: float | None = 40.0
    unused: bool | None = True

    def local_time(self) -> datetime:
        """The set time."""
        return self.now

    def is_on_battery(self) -> bool:
        """What is set."""
        return self.on_battery

    def hottest_c(self) -> float | None:
        """What is set."""
        return self.temp_c

    def is_unused(self) -> bool | None:
        """What is set."""
        return self.unused
