"""The part of the strength graph's axis that is shown, and the ones that links lead to from it: `Stretch`.

Page: docs/pages.md. Numbers are rows or Unix seconds, both ends within the stretch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

TIME: Final = "time"
ROWS: Final = "rows"
LEAST: Final = 2
"""No stretch is shorter, so that closer and closer ends somewhere."""
MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `low` to `high`; raises ValueError where these are not in order."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("A stretch begins before it ends.")

    @property
    def length(self) -> int:
        """How far it goes."""
        return self.high - self.low

    def has(self, place: float) -> bool:
        """Whether a place lies in it."""
        return self.low <= place <= self.high

    def within(self, whole: "Stretch") -> "Stretch":
        """The same length, or what there is of it, moved to lie in `whole`."""
        length = min(max(self.length, LEAST), whole.length)
        low = max(whole.low, min(self.low, whole.high - length))
        return Stretch(low, low + length)


@dataclass(frozen=True, slots=True)
class View:
    """What of the graph is shown: along which axis, with refused candidates or not, and which part; `whole` is all of it."""

    axis: str
    has_refused: bool
    whole: Stretch
    shown: Stretch

    @property
    def is_whole(self) -> bool:
        """Whether all is shown."""
        return self.shown == self.whole

    def address(self, shown: Stretch | None = None, *, axis: str = "", has_refused: bool | None = None) -> str:
        """The page that shows it so; all of it along another axis, and where `shown` is all of it."""
        kept = self.shown if shown is None else shown
        query = {"x": axis or self.axis}
        if not (self.has_refused if has_refused is None else has_refused):
            query["refused"] = "no"
        if kept != self.whole and axis in ("", self.axis):
            query |= {"from": str(kept.low), "to": str(kept.high)}
        return f"/?{urlencode(query)}"

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """Names and addresses of the stretches beside this one: those that differ from it."""
        shown, quarter, half = self.shown, self.shown.length // 4, max(1, self.shown.length // 2)
        found = {
            "closer": Stretch(shown.low + quarter, shown.high - quarter),
            "wider": Stretch(shown.low - half, shown.high + half),
            "earlier": Stretch(shown.low - half, shown.high - half),
            "later": Stretch(shown.low + half, shown.high + half),
            "all": self.whole,
        }
        ways = {name: stretch.within(self.whole) if name != "all" else stretch for name, stretch in found.items()}
        return tuple((name, self.address(stretch)) for name, stretch in ways.items() if stretch != shown)


def view_of(places: Sequence[float], axis: str, has_refused: bool, begin: str | None, end: str | None) -> View:
    """The view of points at these places, cut to what `from=` and `to=` say; raises ValueError for what is no number.

    A stretch that lies outside is moved to where something is.
    """
    whole = Stretch(int(min(places, default=0)), int(max(places, default=0)))
    low, high = _number(begin, whole.low), _number(end, whole.high)
    if low > high:
        raise ValueError("from= is at most to=.")
    is_all = low <= whole.low and high >= whole.high
    return View(axis, has_refused, whole, whole if is_all else Stretch(low, high).within(whole))


def _number(text: str | None, otherwise: int) -> int:
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError("from= and to= want whole numbers along the axis: rows, or Unix seconds.")
    return int(text)
