"""Charts of data: how much of it, how fast, by whom, and what verifiers made of it. Each is None without numbers for it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from node.reports.chart import Chart, draw_bars
from node.reports.facts import DataPoint, RunFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from node.reports.drawing import Palette

MOST_BARS: Final = 12
POINTS_A_RATE: Final = 4
"""Rates are over so many points, or a plot of them is all spikes."""
MINUTES_UP_TO_S: Final = 7200


def data_chart(facts: RunFacts) -> Chart | None:
    """Plies logged, and released to training."""
    points = facts.data
    if not points or not points[-1].plies:
        return None
    axis, unit, _ = _axis(facts, points)

    def draw(axes: "Axes", palette: "Palette") -> None:
        axes.plot(axis, [point.plies for point in points], color=palette.series[0], label="plies logged")
        rows = [point.released_rows for point in points]
        axes.plot(axis, rows, color=palette.series[1], linestyle="--", label="rows released to training")
        axes.set_xlabel(unit)
        axes.set_ylim(bottom=0)
        axes.legend()

    last = points[-1]
    return Chart(
        "data",
        "Data",
        f"Plies of self-play in the log and rows released to training, by {unit}: {last.plies:,} plies in {last.batches:,} "
        f"batches, of which {last.released_rows:,} rows are released.",
        (unit, "entries", "batches", "plies", "rows released"),
        tuple(
            (f"{at:.4g}", str(point.entry), str(point.batches), str(point.plies), str(point.released_rows))
            for at, point in zip(axis, points, strict=True)
        ),
        draw,
    )


def rate_chart(facts: RunFacts) -> Chart | None:
    """Plies for each stretch of time, or of the log where no head has a time."""
    if not facts.data or not facts.data[-1].plies:
        return None
    points = [*facts.data[:-1:POINTS_A_RATE], facts.data[-1]]
    axis, unit, seconds = _axis(facts, points)
    is_timed = seconds > 0
    middles, logged, released = [], [], []
    for (a, before), (b, after) in pairwise(zip(axis, points, strict=True)):
        if b > a:
            width = (b - a) * seconds if is_timed else (b - a) / 100
            middles.append((a + b) / 2)
            logged.append((after.plies - before.plies) / width)
            released.append((after.released_rows - before.released_rows) / width)
    if not middles:
        return None
    per = "second" if is_timed else "100 entries"

    def draw(axes: "Axes", palette: "Palette") -> None:
        axes.plot(middles, logged, color=palette.series[0], label="plies logged")
        axes.plot(middles, released, color=palette.series[1], linestyle="--", label="rows released")
        axes.set_xlabel(unit)
        axes.set_ylabel(f"per {per}")
        axes.set_ylim(bottom=0)
        axes.legend()

    span = (axis[-1] - axis[0]) * seconds if is_timed else (axis[-1] - axis[0]) / 100
    mean = (points[-1].plies - points[0].plies) / span
    times = "by the times of the log's cosigned heads" if is_timed else "for the folder has no times of the log"
    return Chart(
        "rate",
        "Data rate",
        f"Plies logged and rows released per {per}, {times}. Over all: {mean:.1f} plies per {per}.",
        (unit, f"plies per {per}", f"rows released per {per}"),
        tuple((f"{at:.4g}", f"{a:.2f}", f"{b:.2f}") for at, a, b in zip(middles, logged, released, strict=True)),
        draw,
    )


def _axis(facts: RunFacts, points: Sequence[DataPoint]) -> tuple[list[float], str, int]:
    """Where the points lie, the unit, and its seconds: hours or minutes since the first head, else log entries (0)."""
    times = [point.unix_s for point in points if point.unix_s is not None]
    first = facts.first_unix_s
    if first is None or not times or times[-1] == times[0]:
        return [float(point.entry) for point in points], "log entries", 0
    word, seconds = ("minutes", 60) if times[-1] - first <= MINUTES_UP_TO_S else ("hours", 3600)
    # What no head covers yet was logged after the last one.
    values = [((times[-1] if point.unix_s is None else point.unix_s) - first) / seconds for point in points]
    return values, f"{word} since the first head", seconds


def shares_chart(facts: RunFacts) -> Chart | None:
    """Whose plies these are."""
    shares = facts.shares
    if not shares:
        return None
    labels = [share.name or share.key[:8] for share in shares[:MOST_BARS]]
    values = [100 * share.share for share in shares[:MOST_BARS]]
    if len(shares) > MOST_BARS:
        labels.append(f"{len(shares) - MOST_BARS} others")
        values.append(100 * sum(share.share for share in shares[MOST_BARS:]))

    def draw(axes: "Axes", palette: "Palette") -> None:
        draw_bars(axes, palette, labels, values, [f"{value:.1f} %" for value in values])
        axes.set_xlabel("accepted plies, %")

    top = shares[0]
    return Chart(
        "contributors",
        "Contributors",
        f"Shares of {len(shares)} contributors in the accepted plies. {top.name or top.key[:8]} has most, "
        f"{100 * top.share:.1f} %.",
        ("name", "key", "standing", "games", "plies", "share"),
        tuple(
            (each.name, each.key[:8], each.standing, str(each.games), str(each.plies), f"{100 * each.share:.1f} %")
            for each in shares
        ),
        draw,
    )


def verification_chart(facts: RunFacts) -> Chart | None:
    """What became of the games."""
    found = facts.verification
    if not found.games:
        return None
    games = {
        "logged": found.games,
        "verified": found.verified_games,
        "replayed": found.replayed_games,
        "pending": found.pending_games,
        "rejected": found.rejected_games,
    }

    def draw(axes: "Axes", palette: "Palette") -> None:
        draw_bars(axes, palette, list(games), list(games.values()), [f"{count:,}" for count in games.values()])
        axes.set_xlabel("games")

    bans = [(f"ban of {ban.name or ban.role} {ban.key[:8]}", f"entry {ban.entry}") for ban in found.bans]
    return Chart(
        "verification",
        "Verification",
        f"Of {found.games:,} self-play games {found.verified_games:,} are verified, {found.pending_games:,} pending and "
        f"{found.rejected_games:,} rejected, lost or dropped; {found.replayed_games:,} were drawn and replayed. "
        f"{len(found.bans)} bans, {found.pardons} pardons.",
        ("what", "how many"),
        (
            *((f"games {word}", str(count)) for word, count in games.items()),
            ("batches logged", str(found.batches)),
            ("batches accepted", str(found.accepted)),
            ("batches rejected", str(found.rejected)),
            ("batches lost", str(found.lost)),
            ("batches pending", str(found.pending)),
            ("pardons", str(found.pardons)),
            ("bans", str(len(found.bans))),
            *bans,
        ),
        draw,
    )
