"""Play that rests and goes on: by `gonode pause` and `gonode resume`, and whenever somebody else who may says so.

Spec: `docs/commands.md` ("gonode pause"). Several may hold play at once; it goes on when none does. A rest is this
process's: the next start plays.
"""

from typing import Any, Final

from node.control import Command
from node.engine.adjourning import AdjourningEngine
from node.json_record import encode_record
from node.member import Member
from node.role_status import Pause
from protocol.words import counted

USER: Final = "user"
BY_USER: Final = "gonode resume (play is paused)"


class Rest:
    """Holds and releases the play of `engine`, whose games are those of `key`, and says so."""

    def __init__(self, engine: AdjourningEngine, member: Member, key: bytes) -> None:
        self._engine = engine
        self._member = member
        self._key = key

    def hold(self, who: str, waiting_for: str) -> None:
        """Has play rest until `who` releases it; `waiting_for` ends the sentence "waiting for"."""
        before = self._engine.holds
        self._engine.hold(who, waiting_for)
        if self._engine.holds != before:
            text = f"Play rests, and games in flight are kept; waiting for: {self._waiting_for}.{self._due()}"
            self._member.events("paused", text, waiting_for=self._waiting_for)

    def release(self, who: str) -> None:
        """`who` has play rest no more."""
        before = self._engine.holds
        self._engine.release(who)
        if before and not self._engine.holds:
            self._member.events("resumed", "Play goes on.")

    def _due(self) -> str:
        """Until when a batch is due of a key on probation, which loses its slot otherwise."""
        state = self._member.state
        last = state.slots.last_index(self._key)
        if last is None:
            return ""
        left = max(0, last + 1 - state.size)
        return f" A batch is due within {counted(left, 'entry', 'entries')} of the log, or the probation slot is lost."

    @property
    def _waiting_for(self) -> str:
        return "; ".join(self._engine.holds)

    def status(self) -> Pause | None:
        """For `gonode status`; None while play goes on."""
        since_s = self._engine.held_since
        return None if since_s is None else Pause(self._waiting_for, self._member.unix_s(since_s))

    def commands(self) -> dict[str, Command]:
        """What the control socket takes."""

        async def pause() -> dict[str, Any]:
            self.hold(USER, BY_USER)
            return self._answer()

        async def resume() -> dict[str, Any]:
            self.release(USER)
            return self._answer()

        return {"pause": pause, "resume": resume}

    def _answer(self) -> dict[str, Any]:
        paused = self.status()
        return {"ok": True, "paused": None if paused is None else encode_record(paused)}
