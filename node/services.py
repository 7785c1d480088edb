"""The services of a node, kept running: one that fails is started again, counted, and its failure kept as a sentence.

Spec: `docs/commands.md` ("gonode status"). Invariants: an error that `node.fatal` names ends the node; a service that fails
again and again ends it too, for a node that only seems to work is worse than one that ends; nothing else does. What is
no `Exception` (a cancellation, a kill in a simulation) passes through.
"""

import logging
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

import trio

from node.events import Events
from node.fatal import fatal_in
from node.status import ServiceState

log = logging.getLogger("gonode.services")

FIRST_WAIT_S: Final = 0.5
LAST_WAIT_S: Final = 60.0
WELL_AFTER_S: Final = 60.0
"""A service that ran so long before it failed waits only FIRST_WAIT_S again."""

MOST_FAILURES: Final = 10
WITHIN_S: Final = 600.0
"""MOST_FAILURES of one service within this time end the node."""

_MOST_CHARACTERS: Final = 200

Run = Callable[[], Awaitable[None]]


class ServiceLost(Exception):
    """One sentence about a service that fails again and again."""


@dataclass(slots=True)
class Service:
    """One service: how often it was started again, and why the last time."""

    name: str
    restarts: int = 0
    last_failure: str | None = None
    failures: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_FAILURES))


class Services:
    """Keeps services running, in whatever nurseries call `keep`."""

    def __init__(self, events: Events, rng: Random) -> None:
        self._events = events
        self._rng = rng
        self._services: dict[str, Service] = {}
        self._fatal: Exception | None = None
        self._is_met = trio.Event()

    async def keep(self, name: str, run: Run) -> None:
        """Runs a service until it returns or is cancelled, again after each failure.

        Raises what `node.fatal` names, and ServiceLost.
        """
        service = self._services.setdefault(name, Service(name))
        wait_s = FIRST_WAIT_S
        while True:
            began = trio.current_time()
            try:
                await run()
                return
            except Exception as error:
                fatal = fatal_in(error)
                if fatal is not None:
                    raise fatal from (None if fatal is error else error)
                wait_s = FIRST_WAIT_S if trio.current_time() - began > WELL_AFTER_S else min(2 * wait_s, LAST_WAIT_S)
                self._note(service, error, wait_s)
            await trio.sleep(wait_s * (0.5 + self._rng.random()))

    def look_at(self, error: Exception) -> None:
        """Takes an error that was contained where a peer is served: a fatal one ends the node all the same."""
        fatal = fatal_in(error)
        if fatal is not None and self._fatal is None:
            self._fatal = fatal
            self._is_met.set()

    async def watch(self) -> None:
        """Raises the first fatal error that `look_at` was given."""
        await self._is_met.wait()
        assert self._fatal is not None
        raise self._fatal

    def status(self) -> tuple[ServiceState, ...]:
        """For `gonode status`: each service with its restarts."""
        return tuple(ServiceState(each.name, each.restarts, each.last_failure) for each in self._services.values())

    def _note(self, service: Service, error: Exception, wait_s: float) -> None:
        """Counts a failure; raises ServiceLost when there were too many."""
        now = trio.current_time()
        service.last_failure = describe(error)
        service.failures.append(now)
        log.info("the service %s failed", service.name, exc_info=error)
        if len(service.failures) == MOST_FAILURES and now - service.failures[0] < WITHIN_S:
            raise ServiceLost(
                f"The service {service.name} failed {MOST_FAILURES} times within {WITHIN_S / 60:.0f} minutes; "
                f"at last: {service.last_failure} What is finished is kept, and the next start goes on with it."
            ) from error
        service.restarts += 1
        self._events(
            "service",
            f"The service {service.name} failed, the node goes on. Next try in about {wait_s:.3g} s "
            f"(restart {service.restarts}): {service.last_failure}",
            name=service.name,
            restarts=service.restarts,
        )


def describe(error: BaseException) -> str:
    """The first error of a group as one sentence: its kind, what it says, and where it was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())[:_MOST_CHARACTERS].rstrip(".")
    return f"{type(error).__name__}{': ' if text else ''}{text}{place}."
