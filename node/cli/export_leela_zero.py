"""`gonode export leela-zero`: games as Leela Zero's training files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from node.exchange.leela_zero.export import Exported


@click.command("leela-zero")
@click.argument("files", nargs=-1, metavar="[FILE.sgf]...", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Instead of files: the games of a run, from a node's directory or a copy.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="The folder to write; new or empty."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def leela_zero(files: tuple[Path, ...], directory: Path | None, out: Path, as_json: bool) -> int:
    """Write games on 19x19 as training files, which Leela Zero's trainers and `gonode train` read."""
    from node.exchange.leela_zero.export import export_games
    from node.exchange.leela_zero.sources import run_sources, sgf_sources
    from node.training.admitted import load_admitted

    if bool(files) == (directory is not None):
        raise click.UsageError("Say once whose games to export: files of SGF, or a run by --dir.")
    sources = sgf_sources(files) if directory is None else run_sources(load_admitted(directory))
    exported = export_games(sources, out)
    click.echo(json.dumps(summarise(exported)) if as_json else describe(exported, out))
    return 0


def summarise(exported: "Exported") -> dict[str, object]:
    """What `--json` prints."""
    return {
        "games": exported.games,
        "positions": exported.positions,
        "files": [str(path) for path in exported.files],
        "games_left_out": exported.games_left_out,
        "left_out": [{"name": each.name, "reason": each.reason} for each in exported.left_out],
    }


def describe(exported: "Exported", out: Path) -> str:
    """The same for people."""
    from protocol.words import counted

    text = f"{counted(exported.games, 'game')}, {counted(exported.positions, 'position')}: {out}."
    if not exported.games_left_out:
        return text
    first = exported.left_out[0]
    return f"{text} {counted(exported.games_left_out, 'game')} left out, first {first.name}: {first.reason}"
