"""Charts of training: strength, losses, rounding to integers, windows. Each is None when the run has no numbers for it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from node.reports.chart import MARKERS, Chart
from node.reports.facts import Losses, RunFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from node.reports.drawing import Palette


def strength_chart(facts: RunFacts) -> Chart | None:
    """Elo of every candidate whose gate counted games."""
    rated = [cycle for cycle in facts.cycles if cycle.elo is not None and cycle.elo_error is not None]
    if not rated:
        return None

    def draw(axes: "Axes", palette: "Palette") -> None:
        axes.axhline(0, color=palette.faint, linewidth=0.8)
        for is_released, word, marker, colour in (
            (True, "released", "o", palette.series[0]),
            (False, "refused", "x", palette.series[1]),
        ):
            some = [cycle for cycle in rated if bool(cycle.released) is is_released]
            if some:
                axes.errorbar(
                    [cycle.steps for cycle in some],
                    [cycle.elo or 0.0 for cycle in some],
                    yerr=[cycle.elo_error or 0.0 for cycle in some],
                    fmt=marker,
                    color=colour,
                    capsize=2,
                    linewidth=1,
                    markersize=4,
                    label=word,
                )
        axes.set_xlabel("training steps")
        axes.set_ylabel("Elo above release 0")
        axes.legend()

    passed = [cycle for cycle in rated if cycle.released]
    kind = " release" if passed else ""
    best = max(passed or rated, key=lambda cycle: cycle.elo or 0.0)
    return Chart(
        "strength",
        "Strength",
        f"Elo of {len(passed)} releases and {len(rated) - len(passed)} refused candidates above release 0, from the games "
        f"of their gates, with 95 % error bars. The strongest{kind} is that of cycle {best.cycle} with "
        f"{best.elo:+.0f} +- {best.elo_error:.0f}.",
        ("cycle", "steps", "candidate", "pairs", "Elo", "+-"),
        tuple(
            (
                str(cycle.cycle),
                str(cycle.steps),
                cycle.name or "refused",
                str(cycle.pairs),
                f"{cycle.elo:+.0f}",
                f"{cycle.elo_error:.0f}",
            )
            for cycle in rated
        ),
        draw,
    )


def losses_chart(facts: RunFacts, name: str, title: str, parts: Sequence[str], unit: str) -> Chart | None:
    """These parts of the loss, as trained and as held out."""
    trained = [cycle for cycle in facts.cycles if cycle.losses is not None]
    if not trained:
        return None
    held_out = [cycle for cycle in facts.cycles if cycle.held_out is not None]

    def draw(axes: "Axes", palette: "Palette") -> None:
        for part, colour, marker in zip(parts, palette.series, MARKERS, strict=False):
            for cycles, word, line in ((trained, "", "-"), (held_out, ", held out", "--")):
                if not cycles:
                    continue
                reports = [cycle.losses if word == "" else cycle.held_out for cycle in cycles]
                values = [getattr(report, part) for report in reports]
                steps = [cycle.steps for cycle in cycles]
                label = part.replace("_", " ") + word
                axes.plot(steps, values, color=colour, linestyle=line, marker=marker, markersize=3, label=label)
        axes.set_xlabel("training steps")
        axes.set_ylabel(unit)
        axes.set_ylim(bottom=0)
        axes.legend()

    def said(report: Losses | None, part: str) -> str:
        return "" if report is None else f"{getattr(report, part):.4f}"

    words = [part.replace("_", " ") for part in parts]
    first, last = trained[0].losses, trained[-1].losses
    course = ", ".join(
        f"{word} from {said(first, part)} to {said(last, part)}" for word, part in zip(words, parts, strict=True)
    )
    return Chart(
        name,
        title,
        f"Mean losses at the end of {len(trained)} training cycles and on games held out from them: {course} on what was "
        "trained on.",
        ("cycle", "steps", *words, *(f"{word}, held out" for word in words)),
        tuple(
            (
                str(cycle.cycle),
                str(cycle.steps),
                *(said(cycle.losses, part) for part in parts),
                *(said(cycle.held_out, part) for part in parts),
            )
            for cycle in trained
        ),
        draw,
    )


def divergence_chart(facts: RunFacts) -> Chart | None:
    """How far the integer policies and values are from the float ones."""
    rounded = [(cycle, cycle.rounding) for cycle in facts.cycles if cycle.rounding is not None]
    if not rounded:
        return None
    steps = [cycle.steps for cycle, _ in rounded]

    def draw(axes: "Axes", palette: "Palette") -> None:
        kl = [rounding.policy_divergence for _, rounding in rounded]
        value = [rounding.value_error for _, rounding in rounded]
        axes.plot(steps, kl, color=palette.series[0], marker="o", markersize=3, label="policy divergence (nats)")
        label = "value error (root mean square)"
        axes.plot(steps, value, color=palette.series[1], linestyle="--", marker="s", markersize=3, label=label)
        axes.set_xlabel("training steps")
        axes.set_yscale("symlog", linthresh=1e-4)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(bottom=0)
        axes.legend()

    last = rounded[-1][1]
    return Chart(
        "rounding",
        "Rounding to integers",
        "How far the integer network of each candidate is from the float one: divergence of the policies and error of the "
        f"value. At last {last.policy_divergence:.6f} nats and {last.value_error:.6f}.",
        ("cycle", "steps", "positions", "policy divergence", "value error"),
        tuple(
            (
                str(cycle.cycle),
                str(cycle.steps),
                str(rounding.rows),
                f"{rounding.policy_divergence:.6f}",
                f"{rounding.value_error:.6f}",
            )
            for cycle, rounding in rounded
        ),
        draw,
    )


def same_move_chart(facts: RunFacts) -> Chart | None:
    """How often the integer and the float network like the same move most."""
    rounded = [(cycle, cycle.rounding) for cycle in facts.cycles if cycle.rounding is not None]
    if not rounded:
        return None

    def draw(axes: "Axes", palette: "Palette") -> None:
        steps = [cycle.steps for cycle, _ in rounded]
        shares = [100 * rounding.same_move for _, rounding in rounded]
        axes.plot(steps, shares, color=palette.series[2], marker="D", markersize=3)
        axes.set_xlabel("training steps")
        axes.set_ylabel("positions, %")
        axes.set_ylim(min(90.0, *shares), 100)

    last = rounded[-1][1]
    return Chart(
        "same-move",
        "Same first move after rounding",
        "Share of positions in which the integer network of each candidate gives most policy to the same move as the float "
        f"one; {100 * last.same_move:.1f} % at last.",
        ("cycle", "steps", "same first move"),
        tuple((str(cycle.cycle), str(cycle.steps), f"{100 * each.same_move:.2f} %") for cycle, each in rounded),
        draw,
    )


def windows_chart(facts: RunFacts) -> Chart | None:
    """Rows of each window, and of all batches released by then."""
    cycles = facts.cycles
    if not cycles:
        return None

    def draw(axes: "Axes", palette: "Palette") -> None:
        numbers = [cycle.cycle for cycle in cycles]
        axes.plot(
            numbers,
            [cycle.total_rows for cycle in cycles],
            color=palette.series[1],
            linestyle="--",
            marker="s",
            markersize=3,
            label="released",
        )
        axes.plot(
            numbers,
            [cycle.window_rows for cycle in cycles],
            color=palette.series[0],
            marker="o",
            markersize=3,
            label="in the window",
        )
        axes.set_xlabel("cycle")
        axes.set_ylabel("rows")
        axes.set_ylim(bottom=0)
        axes.legend()

    last = cycles[-1]
    return Chart(
        "windows",
        "Training windows",
        f"Rows that each cycle trained on, and rows released by then: {last.window_rows:,} of {last.total_rows:,} in cycle "
        f"{last.cycle}.",
        ("cycle", "batches", "games", "rows", "rows released", "samples so far"),
        tuple(
            (
                str(cycle.cycle),
                str(cycle.window_batches),
                str(cycle.window_games),
                str(cycle.window_rows),
                str(cycle.total_rows),
                str(cycle.samples),
            )
            for cycle in cycles
        ),
        draw,
    )
