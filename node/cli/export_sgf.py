"""`gonode export sgf`: games of a run as SGF, singly or in bulk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from node.cli.directory import of_run

F = TypeVar("F", bound=Callable[..., Any])


def which_games(function: F) -> F:
    """The options of commands that export some games of a run."""
    for option in (
        click.option("--newest", type=click.IntRange(min=1), metavar="N", help="At most so many, the newest."),
        click.option("--contributor", default="", metavar="NAME", help="By name, or the first digits of the key."),
        click.option("--release", default="", metavar="RELEASE", help="By name, number, or latest."),
    ):
        function = option(function)
    return function


@click.command()
@click.argument("names", nargs=-1, metavar="[GAME]...")
@of_run
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The folder to write; new or empty."
)
@which_games
@click.option(
    "--comments",
    type=click.Choice(("gonode", "katago")),
    default="gonode",
    show_default=True,
    help="Whose form: gonode for people and Sabaki, katago for programs that read its self-play's games.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def sgf(
    names: tuple[str, ...],
    directory: Path,
    out: Path,
    release: str,
    contributor: str,
    newest: int | None,
    comments: str,
    as_json: bool,
) -> int:
    """Write games of a run as SGF, with what their searches found as comments.

    GAME is a game's name on the pages, or how it begins; without one: all games.
    """
    from node.exchange.katago.sgf import katago_sgf
    from node.exchange.run_games import RunGames, Wanted
    from node.exchange.run_sgf import write_games
    from node.training.admitted import load_admitted
    from node.web.game_sgf import game_sgf
    from protocol.words import counted

    admitted = load_admitted(directory)
    games = RunGames(admitted, Wanted(release, contributor, names, newest))
    written = write_games(games, admitted.state, out, katago_sgf if comments == "katago" else game_sgf)
    if as_json:
        files = [{"path": str(each.path), "name": each.name} for each in written]
        click.echo(json.dumps({"games": len(written), "missing_batches": games.missing, "files": files}))
        return 0
    missing = "" if not games.missing else f" {counted(games.missing, 'batch', 'batches')} not here."
    click.echo(f"{counted(len(written), 'game')}: {out}.{missing}")
    return 0
