"""What a coordinator waits for from others, and since when: verdicts, shares of heads, results of gate pairs.

Spec: `docs/commands.md` ("gonode status"). It only looks: `note` is called once a second, and ages are on trio's clock.
"""

from collections.abc import Iterable
from typing import Any

import trio

from node.coordinator.log_writer import LogWriter
from node.member import Member
from node.own_status import queue_of
from node.peering.transport import short
from node.status import Queue

MOST_NAMED = 4


class Backlog:
    """The coordinator's own queues."""

    def __init__(self, member: Member, log: LogWriter) -> None:
        self._member = member
        self._log = log
        self._verdicts: dict[int, float] = {}
        self._results: dict[int, float] = {}

    def note(self) -> None:
        """Looks at what is open now; what was open at the last call keeps its age."""
        _renew(self._verdicts, self._unjudged())
        _renew(self._results, self._unplayed())

    @property
    def queues(self) -> list[Queue]:
        """For `gonode status`."""
        member, state = self._member, self._member.state
        verifiers = len(state.verifiers()) if state.size >= 2 else 0
        verdicts = f"a verdict on entry {min(self._verdicts, default=0)} and later ones"
        shares, given, since_s = self._log.awaited_shares
        players = [short(slot.assignment.player) for slot in self._slots() if slot.index in self._results]
        named = ", ".join(sorted(set(players))[:MOST_NAMED])
        found = (
            ("share-set", shares, f"shares of verifiers; {given} of {verifiers} came", since_s),
            (
                "batch-verdict",
                len(self._verdicts),
                verdicts if verifiers else "a verifier: none is approved",
                min(self._verdicts.values(), default=None),
            ),
            ("gate-pairs", len(self._results), f"results of {named}", min(self._results.values(), default=None)),
        )
        return [queue_of(member, name, length, text if length else None, since) for name, length, text, since in found]

    def _unjudged(self) -> list[int]:
        state = self._member.state
        return [each.index for each in state.batches.undecided() if each.verdict is None] if state.size >= 2 else []

    def _unplayed(self) -> list[int]:
        return [slot.index for slot in self._slots() if slot.result is None]

    def _slots(self) -> Iterable[Any]:
        gate = self._member.state.gates.open if self._member.state.size >= 2 else None
        return () if gate is None else gate.slots


def _renew(ages: dict[int, float], keys: Iterable[int]) -> None:
    """Has `ages` hold exactly `keys`, each since it was first seen."""
    now = trio.current_time()
    renewed = {key: ages.get(key, now) for key in keys}
    ages.clear()
    ages.update(renewed)
