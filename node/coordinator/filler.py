"""The coordinator's fills: asks those whom the log's draw names to play what is missing, and says what lapsed.

Spec: `docs/spec/fills.md`. Who is asked for what is a pure function of the log (`verification.fills`); this part only says
it, and nothing waits for an answer.
"""

import trio

from node.coordinator.log_writer import LogWriter
from node.member import Member
from node.own_status import queue_of
from node.peering.transport import short
from node.status import Queue
from protocol.ed25519 import SecretKey
from verification.series import Fill

MOST_NAMED = 4


class Filler:
    """Logs assignments as they become due."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._since: dict[Fill, float] = {}
        self._lapsed: int | None = None

    def step(self) -> None:
        """Logs every assignment that is due."""
        state = self._member.state
        while (assignment := state.fills.next_assignment(state.size)) is not None:
            self._log.append(assignment.seal(self._secret))
            self._member.wake()
        now = trio.current_time()
        vacant = [fill for fill in state.fills.open if fill.header_index is None]
        self._since = {fill: self._since.get(fill, now) for fill in vacant}
        if self._lapsed is not None and state.fills.lapsed > self._lapsed:
            self._member.events("lapsed", f"Nobody filled in games in time: {state.fills.lapsed} times up to now.")
        self._lapsed = state.fills.lapsed

    @property
    def queue(self) -> Queue:
        """For `gonode status`: what is to be filled in, and who was asked."""
        asked = sorted({short(player) for fill in self._since for player in [*fill.assigned][-1:]})
        text = f"games of {', '.join(asked[:MOST_NAMED])}" if asked else "a contributor that may be asked"
        since_s = min(self._since.values(), default=None)
        return queue_of(self._member, "fills", len(self._since), text if self._since else None, since_s)
