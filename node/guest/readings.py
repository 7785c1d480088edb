"""What rules read of the machine, as an interface: `node.guest.machine_readings` reads this one, tests set their own."""

from datetime import datetime
from typing import Protocol


class Readings(Protocol):
    """Readings of now."""

    def local_time(self) -> datetime:
        """The time of day where this machine stands, without a zone."""
        ...

    def is_on_battery(self) -> bool:
        """Whether a battery is drained; False where there is none."""
        ...

    def hottest_c(self) -> float | None:
        """The hottest sensor of the processor, or of all where none is the processor's, in degrees Celsius; None: there is
        no sensor."""
        ...

    def is_unused(self) -> bool | None:
        """Whether nobody used keyboard, mouse or terminals for five minutes; None where nothing tells."""
        ...
