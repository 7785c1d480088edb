"""The counters of one contributor under one release, and the games of them that somebody else may fill in.

Spec: `docs/spec/fills.md`. A `Fill` is open from when it is drawn, or from when its batch was lost, until a batch with
its games is accepted, nobody sent one in time, or its owner is out.
"""

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Fill:
    """Games of (owner, release) that others may play: the next ones after its end, or with `is_gap` those of a lost batch.

    `index`: the entry whose beacon ranks `players`, None before. A header may be logged up to `last_index`, and then none
    while that at `header_index` is not decided. `assigned`: who was asked to play, in order, and by which entry; `barred`:
    whose batch was no good.
    """

    owner: bytes
    release: bytes
    first_counter: int
    games: int
    is_final: bool
    is_gap: bool
    index: int
    last_index: int
    players: tuple[bytes, ...] | None = None
    assigned: dict[bytes, int] = field(default_factory=dict)
    barred: set[bytes] = field(default_factory=set)
    header_index: int | None = None

    def may_be_played_by(self, player: bytes) -> bool:
        """Whether a header of `player` may be logged, as far as its author goes."""
        is_own = self.is_gap and player == self.owner
        return (is_own or player in self.assigned) and player not in self.barred


@dataclass(slots=True)
class Series:
    """The counters of one (owner, release): the next free one, whether the owner is done, and what is open of it."""

    next_counter: int = 0
    closed: bool = False
    fills: list[Fill] = field(default_factory=list)

    def fill_at(self, first_counter: int) -> Fill | None:
        """The open fill that begins at a counter."""
        return next((fill for fill in self.fills if fill.first_counter == first_counter), None)

    def has_gap_before(self, first_counter: int) -> bool:
        """Whether games below a counter are lost and not filled yet."""
        return any(fill.is_gap and fill.first_counter < first_counter for fill in self.fills)
