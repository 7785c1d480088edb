"""Makes the stamp of a registration, try by try, on disk: a kill loses at most the try under way.

Spec: `docs/spec/registration.md` ("Stamp"). Tries do not depend on each other, so beginning anew with a newer tree of the
log loses nothing: that is done once most of the time in which a stamp is good is over.
"""

from typing import Final

import trio

from node.engine.engine import Engine
from node.member import Member
from protocol.errors import ProtocolError
from protocol.registration import Registration
from protocol.stamp import NO_STAMP, find_stamp, is_stamp

KEY: Final = "registration"
"""Where the store has the registration under way: its nonce is the last one that was tried, or the stamp."""

SAY_EVERY_S: Final = 15.0


class Stamper:
    """Makes registrations of `peer` with a stamp; `tries` and `expected` count for the one under way."""

    def __init__(self, member: Member, engine: Engine, peer: bytes, name: str, recovery_hash: bytes) -> None:
        self._member = member
        self._engine = engine
        self._peer = peer
        self._name = name
        self._recovery_hash = recovery_hash
        self._is_working = False
        self.tries = 0
        self.expected = 0

    @property
    def waiting_for(self) -> str | None:
        """What is being made, as the end of "waiting for"."""
        if not self._is_working:
            return None
        return f"the stamp of its registration: {self.tries} tries; it takes about {self.expected}"

    async def stamped(self) -> Registration:
        """A registration whose stamp is good for the next slot list: the one on disk, or one that is made now.

        Returns early, without a stamp, when the key is registered meanwhile: an earlier registration of it has won.
        """
        record = self._kept() or await self._plain()
        if record.stamp != NO_STAMP and await self._engine.compute(is_stamp, record, self._difficulty):
            return record
        try:
            return await self._make(record)
        finally:
            self._is_working = False

    async def _make(self, record: Registration) -> Registration:
        member = self._member
        is_found, said_s = False, -SAY_EVERY_S
        while not is_found:
            if member.state.registry.find(self._peer) is not None:
                return record
            if not self.is_of_use(record):
                record = await self._plain()
            self._is_working, self.tries, self.expected = True, record.stamp, max(1, self._difficulty)
            if trio.current_time() - said_s >= SAY_EVERY_S:
                said_s = trio.current_time()
                text = f"Making {self.waiting_for}."
                member.events("stamping", text, tries=self.tries, expected=self.expected)
            record, is_found = await self._engine.compute(find_stamp, record, self._difficulty, 1)
            member.store.put(KEY, record.encode())
        member.events("stamped", f"The stamp is made, after {record.stamp} tries.", tries=record.stamp)
        return record

    @property
    def _difficulty(self) -> int:
        return self._member.state.manifest.admission.stamp_difficulty

    async def _plain(self) -> Registration:
        """A registration for the newest tree, without a stamp."""
        head = await self._member.until(self._member.newest_head)
        run = self._member.state.run
        return Registration(run, self._peer, self._name, self._recovery_hash, head.size, head.root, b"", NO_STAMP)

    def _kept(self) -> Registration | None:
        """The registration under way, if it is still of use."""
        try:
            record = Registration.parse(self._member.store.get(KEY) or b"")
        except ProtocolError:
            return None
        own = (self._member.state.run, self._peer, self._name, self._recovery_hash)
        is_own = (record.run, record.peer, record.name, record.recovery_hash) == own
        return record if is_own and self.is_of_use(record) else None

    def is_of_use(self, record: Registration) -> bool:
        """Whether the registration's tree is of the newer three quarters of those that a slot list may name."""
        state = self._member.state
        return state.size - record.log_size <= state.manifest.admission.timeout_entries * 3 // 4
