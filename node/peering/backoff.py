"""The pause after failures to reach one destination, shared by all tasks of a process.

Spec: docs/spec/swarm.md ("Mirrors"). Invariants: after a failure nobody tries before the pause is over, then one task does,
and only when that worked do the others; a success ends the pauses, and so does a new connection; no pause is over LAST_S.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

import trio

from node.peering.call import CallRefused
from node.peering.transport import TransportError, Unreachable

FIRST_S: Final = 1.0
LAST_S: Final = 300.0
_GROWTH: Final = 1.6
_LOOK_EVERY_S: Final = 0.5


class Backoff:
    """Pauses before tries to reach one destination.

    `is_connected` says whether there is a connection now: one that comes back ends the pause. For `gonode status`:
    `waiting_for` says what the last failure was, and `since_s`, on trio's clock, since when nothing worked.
    """

    def __init__(self, is_connected: Callable[[], bool], rng: Random) -> None:
        self._is_connected = is_connected
        self._rng = rng
        self._was_connected = is_connected()
        self._is_probing = False
        self._next_s = 0.0
        self._pause_s = FIRST_S
        self.failures = 0
        self.waiting_for = ""
        self.since_s: float | None = None

    @property
    def next_try_in_s(self) -> float:
        """Seconds until the next try; 0 when one may be made now."""
        return max(0.0, self._next_s - trio.current_time()) if self.failures else 0.0

    @property
    def is_ready(self) -> bool:
        """Whether a try may begin now."""
        self._look()
        return not self.failures or (not self._is_probing and not self.next_try_in_s)

    async def until_ready(self) -> None:
        """Returns when a try may begin: the pause is over and nobody else is trying, or the connection is back."""
        await trio.lowlevel.checkpoint()
        while not self.is_ready:
            await trio.sleep(min(self.next_try_in_s or _LOOK_EVERY_S, _LOOK_EVERY_S))

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """One try: a TransportError inside begins or lengthens the pause, anything that was answered ends it.

        Raises Unreachable, with what the last failure said, when it is not yet time.
        """
        if not self.is_ready:
            raise Unreachable(self.waiting_for)
        known = self.failures
        probes = self._is_probing = known > 0
        try:
            yield
        except TransportError as error:
            if known == self.failures:  # else a failure since this try began is counted already
                self._failed(str(error))
            raise
        except CallRefused:
            self.worked()
            raise
        else:
            self.worked()
        finally:
            if probes:
                self._is_probing = False

    def worked(self) -> None:
        """The destination answered: nobody waits any more."""
        self.failures = 0
        self._pause_s = FIRST_S
        self.waiting_for, self.since_s = "", None

    def _failed(self, why: str) -> None:
        self.failures += 1
        self._next_s = trio.current_time() + min(LAST_S, self._pause_s * self._rng.uniform(0.75, 1.25))
        self._pause_s = min(LAST_S, self._pause_s * _GROWTH)
        self.waiting_for = why
        if self.since_s is None:
            self.since_s = trio.current_time()

    def _look(self) -> None:
        """Ends the pause when the connection came back since the last look; why it is waited stays until an answer."""
        is_connected = self._is_connected()
        if is_connected and not self._was_connected:
            self._next_s, self._pause_s = 0.0, FIRST_S
        self._was_connected = is_connected
