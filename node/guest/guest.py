"""A contributor as a guest: asks its rules now and then, has play rest, and drains when its budget is spent.

Spec: `docs/commands.md` ("gonode join"). Invariant: a rule that says nothing any more holds play no
longer than until the next look.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import trio

from node.blobs.work import Work
from node.contributor.contributor import Contributor
from node.control import Command
from node.guest.options import GuestOptions
from node.guest.readings import Readings
from node.member import Member
from node.status import Status

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

    async def run(self, status: Callable[[], Status], commands: Mapping[str, Command]) -> None:
        """Looks until cancelled; `commands` has the node's drain. See `node.lifetime.Beside`."""
        await self._member.services.keep("guest", partial(self._watch, commands["drain"]))

    async def _watch(self, drain: Command) -> None:
        for sentence in await self._work(self._options.missing, self._readings):
            self._member.events("no-reading", sentence)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look)
            await self._until_spent()
            nursery.cancel_scope.cancel()
        await drain()

    async def _look(self) -> None:
        """Has play rest as the rules say."""
        rules = self._options.rules(self._readings)
        while True:
            self.hottest_c = await self._work(self._readings.hottest_c)
            for rule in rules:
                waiting_for = await self._work(rule.waiting_for)
                if waiting_for is None:
                    self._role.rest.release(rule.name)
                else:
                    self._role.rest.hold(rule.name, waiting_for)
            await trio.sleep(LOOK_EVERY_S)

    async def _until_spent(self) -> None:
        """Returns with the game, or at the minute, that spends the budget, and says so."""
        budget, engine = self._options.budget, self._role.engine
        ends_s = math.inf if budget.minutes is None else self._began + 60 * budget.minutes
        while (spent := budget.spent(trio.current_time() - self._began, engine.finished)) is None:
            await engine.change_within(max(0.0, ends_s - trio.current_time()))
        self._member.events("spent", f"The budget is spent: {spent}")
