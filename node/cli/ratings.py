"""`gonode ratings`: how strong every network of a run is, and whoever it has played."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.directory import of_run

MOST_ELO = 5000

if TYPE_CHECKING:
    from node.matches.rating_table import Rated


def _anchors(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    anchors = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            elo = float(number)
        except ValueError:
            elo = float("nan")
        if not name or not abs(elo) <= MOST_ELO:
            raise click.BadParameter(f"NAME=ELO is needed, such as gnugo-10=1500, with an Elo up to {MOST_ELO}.")
        anchors[name] = elo
    return anchors


@click.command()
@of_run
@click.option(
    "--matches",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="A match that `gonode match --record` recorded; repeatable.",
)
@click.option(
    "--anchor",
    "anchors",
    metavar="NAME=ELO",
    multiple=True,
    callback=_anchors,
    help="A player whose rating is given; repeatable. Default: release 0 has 0.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def ratings(directory: Path, matches: tuple[Path, ...], anchors: dict[str, float], as_json: bool) -> None:
    """Rate releases, refused candidates and other players by all gates of the log and by recorded matches."""
    from node.disk.home import Home
    from node.matches.opponent import Gallery
    from node.matches.rating_table import RatingTable, unlinked

    gallery = Gallery(Home(directory))
    table = RatingTable()
    table.add_log(gallery.state)
    for path in matches:
        table.add_record(path, gallery.state.run, gallery.manifest.gate_search.visits_full)
    rated = table.rate(anchors)
    sentence = unlinked(rated)
    if as_json:
        click.echo(json.dumps({"players": [each.to_json() for each in rated], "sentence": sentence}))
        return
    click.echo(_table(rated))
    if sentence is not None:
        click.echo(sentence)


def _table(rated: "list[Rated]") -> str:
    rows = [("player", "kind", "Elo", "+- 95 %", "games", "score")]
    for each in rated:
        elo = "-" if each.elo is None else f"{each.elo:.0f}"
        error = "anchor" if each.is_anchor else "-" if each.elo_error is None else f"{each.elo_error:.0f}"
        rows.append((each.name, each.kind, elo, error, str(each.games), f"{100 * each.score:.1f} %"))
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
