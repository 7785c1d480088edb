"""What the owner of a machine says of its guest, and the rules and the budget that this makes."""

from dataclasses import dataclass, field

from node.guest.budget import Budget
from node.guest.heat import Cool
from node.guest.hours import Hours
from node.guest.power import OnMains
from node.guest.readings import Readings
from node.guest.rule import Rule
from node.guest.use import Unused
from node.guest.within_hours import WithinHours


@dataclass(frozen=True, slots=True)
class GuestOptions:
    """When a contributor plays, and how much. The default plays always but on a battery."""

    hours: Hours | None = None
    on_idle: bool = False
    on_battery: bool = False
    max_temp_c: float | None = None
    budget: Budget = field(default_factory=Budget)

    def rules(self, readings: Readings) -> list[Rule]:
        """The rules, which read the machine by `readings`."""
        found: list[Rule] = []
        if self.hours is not None:
            found.append(WithinHours(self.hours, readings.local_time))
        if not self.on_battery:
            found.append(OnMains(readings.is_on_battery))
        if self.max_temp_c is not None:
            found.append(Cool(self.max_temp_c, readings.hottest_c))
        if self.on_idle:
            found.append(Unused(readings.is_unused))
        return found

    def missing(self, readings: Readings) -> list[str]:
        """A sentence for each rule that this machine does not have the readings for."""
        found = []
        if self.max_temp_c is not None and readings.hottest_c() is None:
            found.append("This machine tells no temperature, so --max-temp changes nothing.")
        if self.on_idle and readings.is_unused() is None:
            found.append(
                "This machine does not tell whether somebody uses it, so --on-idle has play rest all the time."
            )
        return found
