"""Probation slots: which keys may register with a stamp, and how long each may keep its slot.

Spec: `docs/spec/slots.md`. A slot list is logged before the beacon that ranks it, so nobody chooses who wins; stamps are
made for a recent tree, so nobody hoards them. Invariants: at most one list is open; identities that hold a slot and winners
that may still come are together never more than the manifest's slots, unless a new manifest version lowers these; a slot
that was lost never comes back. Derived from the log alone: deadlines count entries.
"""

from dataclasses import dataclass, field

from protocol.entries import Entry
from protocol.errors import BadStamp
from protocol.registration import Registration
from protocol.seeds import slot_rank
from protocol.slots import SlotList
from protocol.stamp import verify_stamp
from verification.batches import Batches
from verification.beacons import Beacons
from verification.faults import LogFault, NotYet
from verification.registry import Registry
from verification.roles import Change, Roles

MOST_VERIFIED = 8192


@dataclass(slots=True)
class Draw:
    """A slot list that was logged at `index` for so many `places`.

    `oldest`: the least tree size of which its registrations' stamps may be. `winners` are none before the beacon;
    registrations of winners may be logged up to `last_index`.
    """

    index: int
    registrations: tuple[bytes, ...]
    places: int
    difficulty: int
    oldest: int
    winners: frozenset[bytes] | None = None
    last_index: int = 0
    logged: set[bytes] = field(default_factory=set)

    @property
    def awaited(self) -> frozenset[bytes]:
        """The winners that are not logged."""
        return (self.winners or frozenset()) - self.logged


@dataclass(slots=True)
class Holder:
    """An identity with a slot, registered at `index`; its time counts from `since`, once its join nonce is there.

    `sent`: the most batches of its probation that were logged.
    """

    index: int
    since: int | None = None
    sent: int = 0


class Slots:
    """The open draw, and who holds a slot."""

    def __init__(self, roles: Roles, beacons: Beacons, registry: Registry, batches: Batches) -> None:
        self._roles = roles
        self._beacons = beacons
        self._registry = registry
        self._batches = batches
        self._holders: dict[bytes, Holder] = {}
        self._verified: set[tuple[bytes, int]] = set()
        self.draw: Draw | None = None

    # ---- queries

    @property
    def holders(self) -> tuple[bytes, ...]:
        """The identities that hold a slot, in log order: on probation, neither out nor too late."""
        return tuple(self._holders)

    @property
    def free(self) -> int:
        """How many slots a list that is logged next may give; none while one is open."""
        policy = self._roles.manifest.admission
        if self.draw is not None or policy.registration != "stamp":
            return 0
        return max(0, policy.probation_slots - len(self._holders))

    def oldest(self, index: int) -> int:
        """The least tree size of which stamps may be that a list at `index` names."""
        return max(0, index - self._roles.manifest.admission.timeout_entries)

    def last_index(self, peer: bytes) -> int | None:
        """The last index for the next batch of a peer that holds a slot; None while it has no such limit."""
        holder = self._holders.get(peer)
        return None if holder is None else self._last_index(peer, holder)

    def verify_stamp(self, registration: Registration, difficulty: int) -> None:
        """Raises BadStamp unless the registration's stamp holds; one that held is not tried again."""
        key = registration.digest(), difficulty
        if key not in self._verified:
            verify_stamp(registration, difficulty)
            if len(self._verified) >= MOST_VERIFIED:
                self._verified.clear()
            self._verified.add(key)

    # ---- changes

    def change_list(self, entry: Entry, record: SlotList, index: int) -> Change:
        """Checks a slot list; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        policy = self._roles.manifest.admission
        if policy.registration != "stamp":
            raise LogFault("This run takes registrations by invite only, so it draws no slots.")
        if self.draw is not None:
            raise LogFault(f"The slot list at entry {self.draw.index} is open.")
        if not self.free:
            raise LogFault("No probation slot is free.")
        draw = Draw(index, record.registrations, self.free, policy.stamp_difficulty, self.oldest(index))
        return lambda: setattr(self, "draw", draw)

    def change_registration(self, entry: Entry, record: Registration, index: int) -> Change:
        """Checks what `Registry` leaves to slots, of a registration without an invite; raises LogFault."""
        digest, draw = entry.envelope.digest, self.draw
        if draw is None or digest not in draw.registrations:
            if record.log_size < self.oldest(index):
                raise LogFault(
                    f"The registration's stamp is for a tree of {record.log_size} entries, which is too old."
                )
            raise NotYet("The registration waits for a probation slot.")
        if draw.winners is None:
            raise NotYet("The registration waits for the draw of its slot list.")
        if digest not in draw.winners:
            raise NotYet("The registration did not win a slot and waits for another list.")
        if record.log_size < draw.oldest:
            raise LogFault(f"The registration's stamp was too old when it was listed at entry {draw.index}.")
        try:
            self.verify_stamp(record, draw.difficulty)
        except BadStamp as error:
            raise LogFault(str(error)) from None

        def change() -> None:
            draw.logged.add(digest)
            self._holders[record.peer] = Holder(index)

        return change

    def replace(self, peer: bytes, replacement: bytes, index: int) -> None:
        """From the entry at `index` on `replacement` is who `peer` was: in its slot, or without the one that it lost."""
        holder = self._holders.pop(peer, None)
        if holder is not None:
            self._holders[replacement] = holder
        elif self._registry.has_lost_slot(peer):
            self._registry.lose_slot(replacement, index)

    def settle(self, size: int) -> None:
        """Draws the open list once its beacon is there, and ends what is over for the entry at `size`, the next one."""
        if self.draw is not None:
            self._settle_draw(self.draw, size)
        for peer, holder in list(self._holders.items()):
            if self._is_done(peer):
                del self._holders[peer]
                continue
            holder.sent = max(holder.sent, self._sent(peer))
            found = self._beacons.find(holder.index)
            if found is not None and holder.since is None:
                holder.since = found.set_index
            elif holder.since is not None and self._batches.is_suspended(peer):
                holder.since += 1
            last_index = self._last_index(peer, holder)
            if last_index is not None and size > last_index:
                del self._holders[peer]
                self._registry.lose_slot(peer, size)

    def _settle_draw(self, draw: Draw, size: int) -> None:
        found = self._beacons.find(draw.index)
        if found is None:
            return
        if draw.winners is None:
            ranked = sorted(draw.registrations, key=lambda digest: slot_rank(found.value, digest))
            draw.winners = frozenset(ranked[: draw.places])
            draw.last_index = found.set_index + self._roles.manifest.admission.timeout_entries
        if not draw.awaited or size > draw.last_index:
            self.draw = None

    def _is_done(self, peer: bytes) -> bool:
        """Whether an identity needs its slot no longer."""
        identity = self._batches.identity(peer)
        policy = self._roles.manifest.admission
        is_past = identity is not None and identity.first_passed(policy)
        return is_past or self._batches.is_out(peer)

    def _sent(self, peer: bytes) -> int:
        """How many batches with games, neither lost nor dropped, a peer's probation has."""
        identity = self._batches.identity(peer)
        return 0 if identity is None else len(identity.first)

    def _last_index(self, peer: bytes, holder: Holder) -> int | None:
        policy = self._roles.manifest.admission
        if holder.since is None or self._sent(peer) >= policy.probation_batches:
            return None
        return holder.since + (1 + holder.sent) * policy.timeout_entries
