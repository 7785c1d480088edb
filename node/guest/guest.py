"""A contributor as a guest: asks its rules now and then, has play rest, and drains when its budget is spent.

Spec: `docs/commands.md` ("gonode join"). Invariant: a rule that says nothing any more holds play no
longer than until the next look.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import trio

from node.blobs.work import Work
from node.contributor.contributor import Contributor
from node.control import Command
from node.guest.options import GuestOptions
from node.guest.readings import Readings
from node.member import Member

LOOK_EVERY_S: Final = 5.0
"""How long at most it takes to notice that the machine is wanted."""


class Guest:
    """Has `role` behave; `work` runs readings, which may wait for the machine's hardware."""

    def __init__(
        self, options: GuestOptions, member: Member, role: Contributor, readings: Readings, work: Work
    ) -> None:
        self._options = options
        self._member = member
        self._role = role
        self._readings = readings
        self._work = work
        self._began = trio.current_time()
        self.hottest_c: float | None = None

    async def run(self, status: Callable[[], dict[str, Any]], commands: Mapping[str, Command]) -> None:
        """Looks until cancelled; `commands` has the node's drain. See `node.lifetime.Beside`."""
        await self._member.services.keep("guest", partial(self._watch, commands["drain"]))

    async def _watch(self, drain: Command) -> None:
        for sentence in await self._work(self._options.missing, self._readings):
            self._member.events("no-reading", sentence)
        rules = self._options.rules(self._readings)
        while True:
            self.hottest_c = await self._work(self._readings.hottest_c)
            for rule in rules:
                waiting_for = await self._work(rule.waiting_for)
                if waiting_for is None:
                    self._role.rest.release(rule.name)
                else:
                    self._role.rest.hold(rule.name, waiting_for)
            spent = self._options.budget.spent(trio.current_time() - self._began, self._role.engine.finished)
            if spent is not None:
                self._member.events("spent", f"The budget is spent: {spent}")
                await drain()
                return
            await self._role.engine.change_within(self._next_look_s())

    def _next_look_s(self) -> float:
        """Until the next look: earlier when the minutes are over before."""
        minutes = self._options.budget.minutes
        if minutes is None:
            return LOOK_EVERY_S
        return max(0.0, min(LOOK_EVERY_S, self._began + 60 * minutes - trio.current_time()))
