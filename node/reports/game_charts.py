"""Charts of games: how long they are, and who wins them. Each is None when the run has no numbers for it."""

import math
from typing import TYPE_CHECKING, Final

from node.reports.chart import MARKERS, Chart
from node.reports.facts import RunFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from node.reports.drawing import Palette

Z95: Final = 1.959964
MOST_LINES: Final = 6
_DASHES: Final = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)))


def lengths_chart(facts: RunFacts) -> Chart | None:
    """Moves of games, cycle by cycle."""
    points = facts.lengths
    if not points:
        return None

    def draw(axes: "Axes", palette: "Palette") -> None:
        some = [point for point in points if point.shortest is not None and point.longest is not None]
        colour = palette.series[0]
        axes.fill_between(
            [point.cycle for point in some],
            [point.shortest or 0 for point in some],
            [point.longest or 0 for point in some],
            color=colour,
            alpha=0.2,
            linewidth=0,
            label="four of five games (moves)",
        )
        means = [point.mean_plies for point in points]
        axes.plot(
            [point.cycle for point in points], means, color=colour, marker="o", markersize=3, label="mean (plies)"
        )
        axes.set_xlabel("cycle")
        axes.set_ylim(bottom=0)
        axes.legend()

    first, last = points[0], points[-1]
    return Chart(
        "length",
        "Game length",
        f"Mean number of searched moves of accepted self-play games by the training cycle before which they were logged: "
        f"{first.mean_plies:.1f} at first, {last.mean_plies:.1f} at last; and the range of all moves of four games in five.",
        ("cycle", "games", "mean plies", "sampled", "10 % shorter than", "10 % longer than"),
        tuple(
            (
                str(point.cycle),
                str(point.games),
                f"{point.mean_plies:.1f}",
                str(point.sampled),
                "" if point.shortest is None else str(point.shortest),
                "" if point.longest is None else str(point.longest),
            )
            for point in points
        ),
        draw,
    )


def balance_chart(facts: RunFacts) -> Chart | None:
    """How often Black won, for each size and komi."""
    boards: dict[tuple[int, float], int] = {}
    for point in facts.balance:
        boards[point.size, point.komi] = boards.get((point.size, point.komi), 0) + point.games
    if not boards:
        return None
    shown = sorted(sorted(boards, key=lambda board: -boards[board])[:MOST_LINES])

    def draw(axes: "Axes", palette: "Palette") -> None:
        axes.axhline(50, color=palette.faint, linewidth=0.8)
        for board, colour, marker, dash in zip(shown, palette.series, MARKERS, _DASHES, strict=False):
            some = [point for point in facts.balance if (point.size, point.komi) == board]
            shares = [(point.black_wins + point.draws / 2) / point.games for point in some]
            errors = [
                100 * Z95 * math.sqrt(share * (1 - share) / point.games)
                for share, point in zip(shares, some, strict=True)
            ]
            axes.errorbar(
                [point.cycle for point in some],
                [100 * share for share in shares],
                yerr=errors,
                color=colour,
                marker=marker,
                markersize=3,
                linestyle=dash,
                elinewidth=0.6,
                label=_board(*board),
            )
        axes.set_xlabel("cycle")
        axes.set_ylabel("won by Black, %")
        axes.set_ylim(0, 100)
        axes.legend()

    last = max(point.cycle for point in facts.balance)
    course = ", ".join(
        f"{point.black_wins} of {point.games} on {_board(point.size, point.komi)}"
        for point in facts.balance
        if point.cycle == last and (point.size, point.komi) in shown
    )
    left_out = f" The {len(shown)} most played boards of {len(boards)} are drawn." if len(shown) < len(boards) else ""
    return Chart(
        "balance",
        "Colour balance",
        f"Share of sampled self-play games won by Black, by board and komi, over training cycles, with 95 % error bars. In "
        f"the time of cycle {last} Black won {course}.{left_out}",
        ("cycle", "board", "games", "won by Black", "drawn", "Black's share"),
        tuple(
            (
                str(point.cycle),
                _board(point.size, point.komi),
                str(point.games),
                str(point.black_wins),
                str(point.draws),
                f"{100 * (point.black_wins + point.draws / 2) / point.games:.0f} %",
            )
            for point in facts.balance
        ),
        draw,
    )


def _board(size: int, komi: float) -> str:
    return f"{size}x{size} komi {komi:g}"
