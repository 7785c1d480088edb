"""Charts as SVG for a page that is light or dark by itself, and as one PNG. The only user of matplotlib.

matplotlib is the extra `report` and is imported when something is drawn. In SVG, text stays text and colours are the page's
CSS variables. No font, file or address is fetched.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from node.reports.chart import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_IN: Final = 4.6
HEIGHT_IN: Final = 3.0
COLUMNS: Final = 2
DOTS_PER_INCH: Final = 150
COUNTS: Final = ("cycle", "training steps", "games")
"""Axes on which nothing lies between two whole numbers."""


class MatplotlibMissing(Exception):
    """The extra `report` is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Charts need matplotlib: install gonode with its extra, `gonode[report]`; --json does without it."
        )


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by use, as #rrggbb."""

    ink: str
    faint: str
    series: tuple[str, ...]


LIGHT: Final = Palette("#1c2024", "#b4bac0", ("#0060a8", "#b84a00", "#00745a", "#a1428a", "#6b6100", "#5a5f66"))
DARK: Final = Palette("#e6e9ec", "#565d64", ("#6cb6ff", "#f0965a", "#4fc9a4", "#e393cf", "#d3c64a", "#aab2ba"))

# Colours that stand for CSS variables in what matplotlib writes.
_VARIABLES: Final = Palette("#010101", "#020202", ("#010001", "#010002", "#010003", "#010004", "#010005", "#010006"))


def css_variables(palette: Palette) -> str:
    """The declarations that give a page's charts the colours of a palette."""
    series = "".join(f"--series-{number}:{colour};" for number, colour in enumerate(palette.series, 1))
    return f"--ink:{palette.ink};--faint:{palette.faint};{series}"


def to_svg(chart: Chart) -> str:
    """A chart as an `<svg>` element for a page that has `css_variables`; raises MatplotlibMissing."""
    with _context():
        figure = _figure(WIDTH_IN, HEIGHT_IN)
        _draw(figure, chart, 1, 1, 1, _VARIABLES)
        out = io.StringIO()
        empty = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=empty)
    return _for_page(out.getvalue(), chart.name)


def to_png(title: str, charts: Sequence[Chart]) -> bytes:
    """All charts under a title as one PNG picture; raises MatplotlibMissing."""
    with _context():
        rows = max(1, -(-len(charts) // COLUMNS))
        figure = _figure(COLUMNS * WIDTH_IN, rows * (HEIGHT_IN + 0.3) + 0.4)
        figure.suptitle(title)
        for number, chart in enumerate(charts, 1):
            _draw(figure, chart, rows, COLUMNS, number, LIGHT, with_title=True)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=DOTS_PER_INCH, facecolor="white", metadata={"Software": None})
    return out.getvalue()


def require_matplotlib() -> None:
    """Raises MatplotlibMissing where it is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MatplotlibMissing from None


def _context() -> Any:
    """matplotlib's settings while a chart is drawn."""
    require_matplotlib()
    import matplotlib

    return matplotlib.rc_context(
        {
            "axes.spines.right": False,
            "axes.spines.top": False,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": 9.0,
            "legend.fontsize": 8.0,
            "legend.framealpha": 0.0,
            "svg.fonttype": "none",
            "svg.hashsalt": "gonode",
            "text.parse_math": False,
        }
    )


def _figure(width_in: float, height_in: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def _draw(
    figure: "Figure",
    chart: Chart,
    rows: int,
    columns: int,
    number: int,
    palette: Palette,
    with_title: bool = False,
) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes = figure.add_subplot(rows, columns, number)
    chart.draw(axes, palette)
    if with_title:
        axes.set_title(chart.title)
    if axes.get_xlabel() in COUNTS:
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "linear" and max(map(abs, axis.get_view_interval())) >= 10_000:
            axis.set_major_formatter(EngFormatter(sep=""))
    axes.tick_params(colors=palette.ink)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(palette.ink)
    for spine in axes.spines.values():
        spine.set_color(palette.faint)
    legend = axes.get_legend()
    for text in legend.get_texts() if legend is not None else ():
        text.set_color(palette.ink)


def _for_page(svg: str, name: str) -> str:
    """Without prolog, with CSS variables for colours, ids of its own, and no size but that of the page."""
    svg = svg[svg.index("<svg") :]
    variables = {_VARIABLES.ink: "--ink", _VARIABLES.faint: "--faint"}
    variables |= {colour: f"--series-{number}" for number, colour in enumerate(_VARIABLES.series, 1)}
    for colour, variable in variables.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", svg)
    head, rest = svg.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f'{head} aria-hidden="true" focusable="false">{rest}'
