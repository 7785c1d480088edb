"""What a node's events tell about the last minutes: rates, the last game and its receipt, whether it drains.

Fed by `hear` with each event; nothing is read from a clock or a node.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from node.events import Field
from node.screen.rate import Rate

GAPS: Final = 8
"""The next game is expected by the mean of so many pauses between the last ones."""


@dataclass(frozen=True, slots=True)
class LastGame:
    """The game that ended last; `result` as in SGF, empty where it is not told."""

    counter: int
    plies: int
    result: str


@dataclass(frozen=True, slots=True)
class LastReceipt:
    """The batch that was logged last; `after_s` since it was signed, None where that was in an earlier life."""

    index: int
    after_s: float | None


class Lately:
    """Collects events; `clock` gives seconds and does not go back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began_s = clock()
        self._ends: deque[float] = deque(maxlen=GAPS + 1)
        self._plies = Rate(self._began_s)
        self._visits = Rate(self._began_s)
        self.last_game: LastGame | None = None
        self.last_receipt: LastReceipt | None = None
        self.is_draining = False

    @property
    def up_s(self) -> float:
        """Since this node was started."""
        return self._clock() - self._began_s

    @property
    def plies_per_s(self) -> float | None:
        """Plies of finished games; None before the first."""
        return self._plies.per_s(self._clock())

    @property
    def visits_per_s(self) -> float | None:
        """Visits of finished games; None before the first."""
        return self._visits.per_s(self._clock())

    @property
    def next_game_in_s(self) -> float | None:
        """When the next game should be finished; None when that is not known, or it is late."""
        if len(self._ends) < 2:
            return None
        gap_s = (self._ends[-1] - self._ends[0]) / (len(self._ends) - 1)
        left_s = self._ends[-1] + gap_s - self._clock()
        return left_s if left_s >= 0 else None

    def hear(self, event: str, values: Mapping[str, Field]) -> None:
        """Takes one event."""
        match event:
            case "playing" if not self._ends:
                now = self._clock()
                self._plies, self._visits = Rate(now), Rate(now)
            case "game":
                self._hear_game(values)
            case "logged" if values.get("kind") == "batch" and isinstance(index := values.get("index"), int):
                after_s = values.get("after_s")
                self.last_receipt = LastReceipt(index, after_s if isinstance(after_s, float) else None)
            case "draining":
                self.is_draining = True

    def _hear_game(self, values: Mapping[str, Field]) -> None:
        now = self._clock()
        plies, visits = _whole(values.get("plies")), _whole(values.get("visits"))
        self._ends.append(now)
        self._plies.add(now, plies)
        self._visits.add(now, visits)
        self.last_game = LastGame(_whole(values.get("counter")), plies, str(values.get("result") or ""))


def _whole(value: Field) -> int:
    return value if isinstance(value, int) else 0
