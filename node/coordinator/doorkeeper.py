"""The coordinator's door for keys without an invite: checks stamps, keeps who waits, lists them, lets winners in.

Spec: `docs/spec/slots.md`. Invariants: whoever was told its place is on disk; a stamp is tried at most once, outside the
event loop, and only after everything that costs less; what waits is bounded, and so is what waits of one address group;
nobody who is in an open draw gives way to another registration of the same key.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import trio

from node.coordinator.log_writer import LogWriter
from node.engine.engine import Engine
from node.member import Member
from node.own_status import queue_of
from node.peering.call import CallRefused
from node.peering.libp2p.scope import group_of
from node.peering.pace import Pace
from node.peering.post import Posted
from node.peering.transport import Misdeed
from node.status import Queue
from protocol.codec import decode, encode
from protocol.ed25519 import SecretKey
from protocol.entries import Entry
from protocol.envelope import Envelope
from protocol.errors import BadStamp
from protocol.registration import Registration
from protocol.slots import MOST_LISTED, SlotList
from protocol.stamp import NO_STAMP
from verification.faults import LogFault, NotYet

MOST_WAITING: Final = 4096
MOST_OF_GROUP: Final = 8
"""The most registrations that wait, in all and of one address group: an IPv4 /24 or IPv6 /48 of the Internet."""

TRIES_OF_GROUP: Final = (0.2, 16.0)
"""How many stamps of one address group are tried: a second, and at once."""

PREFIX: Final = "waiting/"


@dataclass(slots=True)
class Waiting:
    """A registration that waits: where it is kept, the group of who posted it, the difficulty that its stamp reaches."""

    number: int
    group: str
    difficulty: int
    envelope: Envelope
    record: Registration
    since_s: float


class Doorkeeper:
    """Those who wait with a stamp, oldest first."""

    def __init__(self, member: Member, secret: SecretKey, log: LogWriter, engine: Engine) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._engine = engine
        self._pace = Pace(*TRIES_OF_GROUP)
        self._trying = trio.Semaphore(1)
        self._waiting: dict[bytes, Waiting] = {}
        self._next = 0
        for name in member.store.names(PREFIX):
            self._restore(name)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def queue(self) -> Queue:
        """For `gonode status`: who waits for a slot."""
        state, length = self._member.state, len(self._waiting)
        since_s = min((each.since_s for each in self._waiting.values()), default=None)
        held = len(state.slots.holders) if state.size >= 2 else 0
        slots = state.manifest.admission.probation_slots if state.size >= 2 else 0
        text = f"probation slots; {held} of {slots} are taken" if length else None
        return queue_of(self._member, "slots", length, text, since_s)

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """The registrations that wait, oldest first."""
        return tuple(each.record for each in self._waiting.values())

    # ---- what is posted

    async def take(self, entry: Entry, record: Registration, peer: bytes | None) -> Posted:
        """Keeps a registration with a stamp that `peer` posted, or logs it where it has won already; says where it stands.

        Raises CallRefused. The caller takes no two of one author at once.
        """
        if (answer := self._answer(entry, record)) is not None:
            return answer
        group = self._group(peer)
        self._require_room(record, group)
        await self._require_stamp(record, group, peer)
        if (answer := self._answer(entry, record)) is not None:  # the log has grown meanwhile
            return answer
        self._require_room(record, group)
        return self._keep(entry.envelope, record, group)

    def _answer(self, entry: Entry, record: Registration) -> Posted | None:
        """The answer to what needs no look at its stamp; None where that has to be tried. Raises CallRefused."""
        try:
            self._member.state.check(entry.envelope.encode())
        except NotYet:
            known = self._waiting.get(record.peer)
            if known is not None and (known.envelope.digest == entry.envelope.digest or self._is_listed(known)):
                return self._place(known)
            return None
        except LogFault as fault:
            raise CallRefused(fault.reason) from None
        return Posted(self._append(entry.envelope), b"")

    def _require_room(self, record: Registration, group: str) -> None:
        """Raises CallRefused when too many wait already; a key that waits needs no further room."""
        if record.peer in self._waiting:
            return
        if len(self._waiting) >= MOST_WAITING:
            raise CallRefused(f"{MOST_WAITING} registrations wait for a slot, which is all; come again later.")
        if Counter(each.group for each in self._waiting.values())[group] >= MOST_OF_GROUP:
            raise CallRefused(
                f"{MOST_OF_GROUP} registrations wait that came from addresses near yours; come again later."
            )

    async def _require_stamp(self, record: Registration, group: str, peer: bytes | None) -> None:
        """Tries the stamp; raises CallRefused, and complains of `peer` when it does not hold."""
        difficulty = self._member.state.manifest.admission.stamp_difficulty
        try:
            if record.stamp == NO_STAMP:
                raise BadStamp("The registration has neither an invite nor a stamp.")
            if not self._pace.take(group):
                raise CallRefused("Many stamps came from addresses near yours; come again later.")
            async with self._trying:
                await self._engine.compute(self._member.state.slots.verify_stamp, record, difficulty)
        except BadStamp as error:
            if peer is not None:
                self._member.transport.complain(peer, Misdeed.UNSTAMPED)
            raise CallRefused(str(error)) from None

    def _keep(self, envelope: Envelope, record: Registration, group: str) -> Posted:
        """Keeps a registration at its key's place, or at the end."""
        known = self._waiting.get(record.peer)
        if known is None:
            number, since_s = self._next, trio.current_time()
            self._next += 1
        else:
            number, group, since_s = known.number, known.group, known.since_s
        difficulty = self._member.state.manifest.admission.stamp_difficulty
        kept = self._waiting[record.peer] = Waiting(number, group, difficulty, envelope, record, since_s)
        self._member.store.put(_key(number), encode([group, difficulty, envelope.encode()]))
        self._member.wake()
        return self._place(kept)

    def _place(self, kept: Waiting) -> Posted:
        place = 1 + sum(each.number < kept.number for each in self._waiting.values())
        return Posted(0, b"", place=place, waiting=len(self._waiting))

    def _group(self, peer: bytes | None) -> str:
        """The address group of a connected peer; the peer itself where its address is not known."""
        hosts = [link.host for link in self._member.transport.links() if link.peer == peer and link.host]
        return group_of(hosts[0].partition("/")[0]) if hosts else (peer or b"").hex()

    # ---- slots

    def step(self) -> None:
        """Lets the winners of a draw in, or lists who waits when a slot is free; called once a second."""
        state = self._member.state
        if not self._waiting or state.size < 2:
            return
        self._sweep()
        draw = state.slots.draw
        if draw is None and state.slots.free and self._waiting:
            digests = tuple(each.envelope.digest for each in list(self._waiting.values())[:MOST_LISTED])
            self._append(SlotList(state.run, digests).seal(self._secret))
        elif draw is not None:
            for each in [each for each in self._waiting.values() if each.envelope.digest in draw.awaited]:
                try:
                    self._append(each.envelope)
                except CallRefused as refusal:
                    peer = each.record.peer.hex()[:8]
                    self._member.events(
                        "fault", f"The registration of {peer}, which won a slot, is not logged: {refusal}"
                    )
                self._drop(each)

    def _sweep(self) -> None:
        """Forgets who is registered, and, but for those in an open draw, whose stamp is no longer what a list may name."""
        state = self._member.state
        oldest = state.slots.oldest(state.size)
        difficulty = state.manifest.admission.stamp_difficulty
        for each in list(self._waiting.values()):
            is_useless = each.record.log_size < oldest or each.difficulty < difficulty
            if state.registry.find(each.record.peer) is not None or (is_useless and not self._is_listed(each)):
                self._drop(each)

    def _is_listed(self, kept: Waiting) -> bool:
        """Whether it may still win the open draw, or has."""
        draw = self._member.state.slots.draw
        if draw is None:
            return False
        return kept.envelope.digest in (draw.registrations if draw.winners is None else draw.awaited)

    def _append(self, envelope: Envelope) -> int:
        try:
            index = self._log.append(envelope)
        except LogFault as fault:
            raise CallRefused(fault.reason) from None
        self._member.wake()
        return index

    def _drop(self, kept: Waiting) -> None:
        del self._waiting[kept.record.peer]
        self._member.store.delete(_key(kept.number))

    def _restore(self, name: str) -> None:
        """Takes up who waited when the process ended."""
        match decode(self._member.store.get(name) or b"", 1 << 17):
            case [str(group), int(difficulty), bytes(data)]:
                envelope = Envelope.parse(data)
                record = Registration.open(envelope)
                number = int(name.removeprefix(PREFIX), 16)
                kept = Waiting(number, group, difficulty, envelope, record, trio.current_time())
                self._waiting[record.peer] = kept
                self._next = number + 1


def _key(number: int) -> str:
    return f"{PREFIX}{number:016x}"
