"""Strength of releases and refused candidates as one SVG picture, drawn here: `elo_graph`.

Page: docs/pages.md. Bars are 95 % intervals. Nothing is told by colour alone: releases are discs on a line, refused
candidates crosses. Colours are the page's classes, so that both themes fit; every number is in the table under it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from node.web.model.training import REFUSED
from node.web.queries.overview import Point
from node.web.rendering import count, things, when
from node.web.stretch import ROWS, TIME, View, view_of

WIDTH: Final = 560
HEIGHT: Final = 320
LEFT: Final = 72
RIGHT: Final = 16
TOP: Final = 16
BOTTOM: Final = 52
TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return round(self.start + share * (self.end - self.start), 1)


def axis_of(points: Sequence[Point], wanted: str) -> str:
    """Along what the graph goes: time where it is wanted and known of every point, else rows."""
    return TIME if wanted == TIME and all(point.unix_s is not None for point in points) else ROWS


def elo_view(points: Sequence[Point], axis: str, has_refused: bool, begin: str | None, end: str | None) -> View:
    """What of the graph `from=` and `to=` ask for; raises ValueError."""
    return view_of([_at(point, axis) for point in points], axis, has_refused, begin, end)


def shown_points(points: Sequence[Point], view: View) -> tuple[Point, ...]:
    """Those that the view has."""
    return tuple(
        point
        for point in points
        if (view.has_refused or point.state != REFUSED) and view.shown.has(_at(point, view.axis))
    )


def elo_graph(points: Sequence[Point], view: View) -> str:
    """An `<svg>` element of a view's points; empty without one."""
    if not points:
        return ""
    at = [_at(point, view.axis) for point in points]
    lows = [point.elo - point.elo_error for point in points]
    highs = [point.elo + point.elo_error for point in points]
    ticks = _ticks(min(lows), max(highs))
    low, high = view.shown.low, view.shown.high
    x = _Scale(low, high, LEFT + 12, WIDTH - RIGHT - 12)
    y = _Scale(min(ticks[0], *lows), max(ticks[-1], *highs), HEIGHT - BOTTOM, TOP)
    line = [
        (x.place(place), y.place(point.elo)) for place, point in zip(at, points, strict=True) if point.id is not None
    ]
    parts = [
        f'<svg class="graph" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="elo-title elo-words"',
        f' data-low="{low}" data-high="{high}" data-start="{x.start:g}" data-end="{x.end:g}">',
        '<title id="elo-title">Elo above release 0</title>',
        f'<desc id="elo-words">{escape(_words(points, view))}</desc>',
        *(_grid(y.place(tick), f"{tick:,.0f}") for tick in ticks),
        *_below(low, high, view.axis),
        _line(line),
        *(
            _mark(point, x.place(place), y.place(point.elo), y.place(below), y.place(above))
            for place, point, below, above in zip(at, points, lows, highs, strict=True)
        ),
        "</svg>",
    ]
    return "\n".join(parts)


def _at(point: Point, axis: str) -> float:
    """Where a point lies along the axis."""
    return float(point.unix_s or 0) if axis == TIME else float(point.rows)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`."""
    span = max(high - low, 1.0)
    raw = span / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _words(points: Sequence[Point], view: View) -> str:
    releases = [point for point in points if point.id is not None]
    refused = sum(point.state == REFUSED for point in points)
    if not releases:
        return f"{things(refused, 'refused candidate')} and no release. The numbers are in the table."
    best = max(releases, key=lambda point: point.elo)
    more = f" {things(refused, 'refused candidate')} {'is' if refused == 1 else 'are'} shown too." if refused else ""
    part = "" if view.is_whole else " in the stretch that is shown"
    return (
        f"{things(len(releases), 'release')}{part}; the strongest is release {best.release} with {best.elo:+.0f}, "
        f"give or take {best.elo_error:.0f}.{more} The numbers are in the table."
    )


def _grid(y: float, text: str) -> str:
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{text}</text>'
    )


def _below(low: int, high: int, axis: str) -> list[str]:
    first, last = (when(low), when(high)) if axis == TIME else (count(low), count(high))
    word = "time" if axis == TIME else "rows of data"
    y = HEIGHT - BOTTOM + 22
    return [
        f'<text class="tick" x="{LEFT}" y="{y}">{first}</text>',
        f'<text class="tick" x="{WIDTH - RIGHT}" y="{y}" text-anchor="end">{last}</text>',
        f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{y + 20}" text-anchor="middle">{word}</text>',
    ]


def _line(places: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="strength" points="{" ".join(f"{x},{y}" for x, y in places)}"/>'


def _mark(point: Point, x: float, y: float, low: float, high: float) -> str:
    bar = f'<line class="error" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>' if point.elo_error else ""
    if point.state == REFUSED:
        shape = f'<path class="refused" d="M{x - 4} {y - 4}L{x + 4} {y + 4}M{x - 4} {y + 4}L{x + 4} {y - 4}"/>'
        words = f"Candidate at entry {point.entry}, refused: {point.elo:+.0f} ± {point.elo_error:.0f}"
        return f"<g>{bar}{shape}<title>{words}</title></g>"
    shape = f'<circle class="release" cx="{x}" cy="{y}" r="5"/>'
    name = f"Candidate at entry {point.entry}, passed" if point.id is None else f"Release {point.release}"
    words = f"{name}: {point.elo:+.0f} ± {point.elo_error:.0f}"
    return f"<g>{bar}{shape}<title>{words}</title></g>"
