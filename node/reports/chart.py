"""One chart of a report: its title, what it shows in a sentence, its numbers as a table, and how it is drawn.

Page: docs/commands.md ("gonode report"). Nothing is told by colour alone: series differ in line or marker too, and every
number of a chart is in its table. `node.reports.drawing` gives the axes; no chart imports a plotting library.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from node.reports.drawing import Palette

MARKERS: Final = "osD^vP"

Draw = Callable[["Axes", "Palette"], None]


@dataclass(frozen=True, slots=True)
class Chart:
    """`name` is its anchor, `summary` the alternative for who does not see it; `head` and `rows` are all of its numbers."""

    name: str
    title: str
    summary: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    draw: Draw


def draw_bars(
    axes: "Axes", palette: "Palette", labels: Sequence[str], values: Sequence[float], said: Iterable[str]
) -> None:
    """Bars from the top down, each with its number."""
    places = list(range(len(labels)))
    bars = axes.barh(places, values, color=palette.series[0])
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.bar_label(bars, labels=list(said), padding=3, color=palette.ink)
    axes.set_xlim(0, max(1e-9, *values) * 1.25)
