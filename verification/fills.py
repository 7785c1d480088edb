"""Games that somebody else plays with a contributor's seeds: which are drawn, who is asked, what nobody took in time.

Spec: `docs/spec/fills.md`. Pure. The end of a series is logged before the beacon that draws it, and that beacon ranks who
is asked, so that nobody chooses what is filled in or by whom. Invariants: a series is drawn once; whoever is asked played
lately and is not its owner; what nobody fills in lapses by the number of entries, is counted and blocks nothing.
"""

from collections import deque
from dataclasses import dataclass

from protocol.entries import Entry
from protocol.fills import FillAssignment
from protocol.header import BatchHeader
from protocol.seeds import fill_rank, is_picked
from verification.batches import Batches
from verification.beacons import Beacons
from verification.faults import LogFault
from verification.identities import BatchInfo
from verification.registry import Registry
from verification.releases import ReleaseInfo, Releases
from verification.roles import Change, Roles
from verification.series import Fill

TAIL = "tail"
TAIL_TIMEOUTS = 3
"""How often the timeout a drawn tail waits: time for three players, one after another."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A series that ended with the entry at `index`, whose beacon says if others go on with it."""

    owner: bytes
    release: bytes
    index: int


class Fills:
    """All fills of the log: `drawn` counts tails, `lapsed` what nobody took in time, `filled_count` accepted batches."""

    def __init__(
        self, roles: Roles, beacons: Beacons, registry: Registry, releases: Releases, batches: Batches
    ) -> None:
        self._roles = roles
        self._beacons = beacons
        self._registry = registry
        self._releases = releases
        self._batches = batches
        self._ended: deque[Ended] = deque()  # oldest end first
        self._over = 0  # releases of a lower number are over
        self.drawn = 0
        self.lapsed = 0

    # ---- queries

    @property
    def open(self) -> tuple[Fill, ...]:
        """What is to be filled in, batches that are not decided included; oldest first."""
        return tuple(self._batches.fills)

    @property
    def filled_count(self) -> int:
        """How many batches were filled in."""
        return sum(map(len, self._batches.filled.values()))

    def filled(self, owner: bytes) -> tuple[BatchInfo, ...]:
        """The accepted batches with which gaps and tails of `owner` were filled in, its own of gaps included."""
        return tuple(self._batches.filled.get(owner, ()))

    def assignments(self, player: bytes) -> list[Fill]:
        """What `player` may fill in now: what it is asked to, and gaps of its own; oldest first."""
        return [fill for fill in self._vacant() if fill.may_be_played_by(player)]

    def next_assignment(self, index: int) -> FillAssignment | None:
        """The first assignment that an entry at `index` may hold, or None while everybody is asked who is to be."""
        for fill in self._vacant():
            player = self._next_player(fill, index)
            if player is not None:
                place = fill.owner, fill.release, fill.first_counter, fill.games
                return FillAssignment(self._roles.run, *place, player)
        return None

    # ---- changes

    def change_assignment(self, entry: Entry, record: FillAssignment, index: int) -> Change:
        """Checks who is asked to fill in what; raises LogFault."""
        self._roles.require_coordinator(entry, index)
        fill = self._batches.series(record.owner, record.release).fill_at(record.first_counter)
        if fill is None or fill.games != record.games:
            raise LogFault("The assignment is of games that are not to be filled in.")
        if fill.header_index is not None:
            raise LogFault("The assignment is of games that are filled in already.")
        player = self._next_player(fill, index)
        if player is None:
            raise LogFault("Nobody is to be asked to fill in these games now.")
        if player != record.player:
            raise LogFault(f"Player {player.hex()[:16]} is to be asked to fill in these games.")
        return lambda: fill.assigned.__setitem__(player, index)

    def logged(self, header: BatchHeader, index: int) -> None:
        """A header is logged at `index`: a final one ends its series."""
        if header.final and not header.fill_for:
            self._end(header.owner, header.release, index)

    def settle(self, size: int) -> None:
        """Ends, draws, ranks and lapses what is due before the entry at `size`, the next one."""
        self._end_releases(size)
        while self._ended and (value := self._beacons.value(self._ended[0].index)) is not None:
            self._draw(self._ended.popleft(), value, size)
        for fill in self._vacant():
            if fill not in self._batches.series(fill.owner, fill.release).fills:
                continue  # it went with a gap before it
            if self._is_vain(fill):
                self._batches.close_fill(fill)
            elif size > fill.last_index:
                self._lapse(fill, size)
            elif fill.players is None and (value := self._beacons.value(fill.index)) is not None:
                fill.players = self._ranked(fill, value, size)

    # ---- ends and draws

    def _end_releases(self, size: int) -> None:
        """Ends the series of releases that the entry at `size` can no longer be of."""
        previous = self._releases.previous
        while previous is not None and self._over <= previous.number:
            release, successor = self._releases.all[self._over : self._over + 2]
            if self._releases.is_live(release, size):
                return
            self._over += 1
            for peer in self._registry.peers:
                series = self._batches.series(peer, release.id)
                is_begun = series.next_counter > 0
                if not series.closed and (is_begun or self._was_active(peer, successor, size - 1)):
                    self._end(peer, release.id, size - 1)

    def _was_active(self, peer: bytes, successor: ReleaseInfo, end: int) -> bool:
        """Whether `peer` could have played a release before its successor came, and was heard of lately."""
        registration, last = self._registry.find(peer), self._batches.last_index(peer)
        if registration is None or last is None or registration.index > successor.index:
            return False
        return last >= end - self._roles.manifest.admission.exit_entries

    def _end(self, owner: bytes, release: bytes, index: int) -> None:
        if self._roles.manifest.admission.tail_ppm:
            self._ended.append(Ended(owner, release, index))

    def _draw(self, ended: Ended, value: bytes, size: int) -> None:
        """Draws if others go on with an ended series: with the games that would have been its next batch."""
        owner, release = ended.owner, ended.release
        policy = self._roles.manifest.admission
        if self._batches.is_out(owner) or not is_picked(TAIL, value, owner + release, policy.tail_ppm):
            return
        first, games = self._batches.series(owner, release).next_counter, policy.games_per_batch
        last_index = size + TAIL_TIMEOUTS * policy.timeout_entries
        tail = Fill(owner, release, first, games, False, is_gap=False, index=ended.index, last_index=last_index)
        tail.players = self._ranked(tail, value, size)
        self._batches.open_fill(tail)
        self.drawn += 1

    # ---- who fills in

    def _vacant(self) -> list[Fill]:
        return [fill for fill in self._batches.fills if fill.header_index is None]

    def _ranked(self, fill: Fill, value: bytes, size: int) -> tuple[bytes, ...]:
        """Who may be asked, in order."""
        players = (player for player in self._batches.active_players(size) if player != fill.owner)
        place = fill.owner, fill.release, fill.first_counter
        return tuple(sorted(players, key=lambda player: fill_rank(value, *place, player)))

    def _next_player(self, fill: Fill, index: int) -> bytes | None:
        """Who is to be asked by an entry at `index`; None while who was asked may still answer, or nobody is left."""
        for player, asked_at in [*fill.assigned.items()][-1:]:
            is_late = index > asked_at + self._roles.manifest.admission.timeout_entries
            if not is_late and self._may_play(fill, player):
                return None
        players = fill.players or ()
        return next((each for each in players if each not in fill.assigned and self._may_play(fill, each)), None)

    def _may_play(self, fill: Fill, player: bytes) -> bool:
        is_trusted = not self._batches.is_out(player) and not self._batches.is_suspended(player)
        return is_trusted and player not in fill.barred

    def _is_vain(self, fill: Fill) -> bool:
        """Whether nothing waits for a fill any more: its owner is out, and does not go on under another key past a gap."""
        goes_on = fill.is_gap and self._registry.successor(fill.owner) is not None
        return self._batches.is_out(fill.owner) and not goes_on

    def _lapse(self, fill: Fill, size: int) -> None:
        self.lapsed += 1
        if fill.is_gap:
            self._batches.end_at_gap(fill, size - 1)
        else:
            self._batches.close_fill(fill)
