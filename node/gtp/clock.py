"""Time for the moves of a game: what the controller allows, what is left, and how much of it one move may take.

The clock runs by itself from the settings on; `time_left` of the controller, where it comes, counts more. Invariant: a
move is never given more than is left, less LAG_S for what the controller, the machine and the network between them
take.
"""

from dataclasses import dataclass
from typing import Final

from native.rules import Colour

LAG_S: Final = 0.3
LEAST_S: Final = 0.01
MOST_SHARE: Final = 0.8
"""Of the time left, for a move after which more time comes."""


@dataclass(frozen=True, slots=True)
class TimeSettings:
    """Main time, then `stones` moves in each `period_s`; with `periods`, one move in each and so many of them.

    All 0: no time at all. A period without stones: no limit. `increment_s` (Fischer's) comes to the main time after each
    move, which then is `most_s` at most; a move takes no more than `move_s`; None: not said.
    """

    main_s: float = 0.0
    period_s: float = 0.0
    stones: int = 0
    periods: int = 0
    increment_s: float = 0.0
    most_s: float | None = None
    move_s: float | None = None

    @property
    def is_unlimited(self) -> bool:
        """Whether time is not counted."""
        return self.period_s > 0 and not self.stones and not self.periods


NO_LIMIT: Final = TimeSettings(period_s=1.0)


@dataclass(slots=True)
class _Left:
    """What one player has: `in_period` after the main time; `stones` or `periods` that are left then."""

    time_s: float
    in_period: bool
    stones: int
    periods: int


class Clock:
    """Both players' time."""

    def __init__(self, settings: TimeSettings = NO_LIMIT) -> None:
        self.settings = settings
        self._left: dict[Colour, _Left] = {}
        self.restart()

    def restart(self) -> None:
        """A new game by the same settings."""
        told = self.settings
        for colour in (Colour.BLACK, Colour.WHITE):
            self._left[colour] = _Left(told.main_s, False, told.stones, told.periods)
            if told.main_s <= 0:
                self._begin_period(self._left[colour])

    def set_left(self, colour: Colour, time_s: float, stones: int) -> None:
        """What the controller says is left: 0 stones in main time, else stones of the period, or periods as KGS counts."""
        left = self._left[colour]
        left.time_s, left.in_period = time_s, stones > 0
        if self.settings.is_unlimited:  # nobody said how time is counted, yet it is
            self.settings = TimeSettings(main_s=time_s)
        if stones and self.settings.periods:
            left.periods = stones
        elif stones:
            left.stones = stones

    def spend(self, colour: Colour, seconds: float) -> None:
        """A move was made in so many seconds."""
        told, left = self.settings, self._left[colour]
        if told.is_unlimited:
            return
        left.time_s -= seconds
        if not left.in_period and left.time_s <= 0 and told.period_s > 0:
            over = -left.time_s
            self._begin_period(left)
            left.time_s -= over
        if left.in_period and told.periods:
            while left.time_s <= 0 < left.periods - 1:
                left.periods -= 1
                left.time_s += told.period_s
            if left.time_s > 0:
                left.time_s = told.period_s
        elif left.in_period:
            left.stones -= 1
            if left.stones <= 0:
                self._begin_period(left)
        left.time_s = max(0.0, left.time_s) + told.increment_s
        if told.most_s is not None:
            left.time_s = min(left.time_s, told.most_s)

    def budget_s(self, colour: Colour, moves_left: int) -> float | None:
        """Seconds for the next move of a game in which so many of this colour are still to come; None: no limit."""
        told, left = self.settings, self._left[colour]
        if told.is_unlimited:
            return None
        if left.in_period:
            share = most = (left.time_s - LAG_S) / (1 if told.periods else max(1, left.stones))
        elif told.period_s:
            after = told.period_s / max(1, told.stones)
            share, most = left.time_s / max(1, moves_left) + after, left.time_s + after - LAG_S
        elif told.increment_s:
            spare_s = max(0.0, left.time_s - told.increment_s - LAG_S)
            share, most = spare_s / max(1, moves_left) + told.increment_s - LAG_S, MOST_SHARE * left.time_s - LAG_S
        else:
            share, most = (left.time_s - LAG_S) / max(1, moves_left), left.time_s / 4
        if told.move_s is not None:
            most = min(most, told.move_s - LAG_S)
        return max(LEAST_S, min(share, most))

    def _begin_period(self, left: _Left) -> None:
        told = self.settings
        left.time_s, left.in_period, left.stones, left.periods = told.period_s, True, told.stones, told.periods
