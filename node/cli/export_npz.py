"""`gonode export npz`: games of a run as KataGo's training rows."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.directory import of_run
from node.cli.export_sgf import which_games

if TYPE_CHECKING:
    from node.exchange.katago.export import Exported


@click.command()
@of_run
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The folder to write; new or empty."
)
@which_games
@click.option(
    "--pos-len",
    type=click.IntRange(2, 19),
    default=19,
    show_default=True,
    help="The side of the rows' boards, as for KataGo's train.py; smaller boards fit in.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def npz(
    directory: Path, out: Path, release: str, contributor: str, newest: int | None, pos_len: int, as_json: bool
) -> int:
    """Write games of a run as training rows in KataGo's layout, for its shuffle.py and train.py: a row a full search."""
    from node.cli.audit_screen import Bar, Lines
    from node.exchange.katago.export import export_rows
    from node.exchange.run_games import RunGames, Wanted
    from node.training.admitted import load_admitted
    from verification.audit.folder import Progress

    games = RunGames(load_admitted(directory), Wanted(release, contributor, (), newest))
    screen, most = Bar() if sys.stderr.isatty() else Lines(), games.most
    try:
        exported = export_rows(
            *(games.oldest_first(), out, pos_len),
            hear=lambda done: screen.hear(Progress("export", "games", done, most)),
        )
    finally:
        screen.clear()
    if as_json:
        click.echo(json.dumps(summarise(exported) | {"missing_batches": games.missing}))
    else:
        click.echo(describe(exported, out, games.missing))
    return 0


def summarise(exported: "Exported") -> dict[str, object]:
    """What `--json` prints."""
    return {
        "games": exported.games,
        "rows": exported.rows,
        "files": [str(path) for path in exported.files],
        "games_left_out": exported.games_left_out,
        "left_out": [{"name": each.name, "reason": each.reason} for each in exported.left_out],
    }


def describe(exported: "Exported", out: Path, missing: int) -> str:
    """The same for people."""
    from protocol.words import counted

    text = f"{counted(exported.games, 'game')}, {counted(exported.rows, 'row')}: {out}."
    if exported.games_left_out:
        first = exported.left_out[0]
        text += f" {counted(exported.games_left_out, 'game')} left out, first {first.name}: {first.reason}"
    return text + (f" {counted(missing, 'batch', 'batches')} not here." if missing else "")
