"""`gonode match A B`: which of two players is stronger, with error bars."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.main import NO

MOST_KOMI = 1000
LINE_EVERY_S = 10.0

if TYPE_CHECKING:
    from native.rules import Rules
    from node.matches.match import MatchResult
    from node.matches.opponent import Gallery, Opponent


def _half_points(context: click.Context, parameter: click.Parameter, komi: float | None) -> float | None:
    if komi is not None and not (abs(komi) <= MOST_KOMI and (2 * komi).is_integer()):
        raise click.BadParameter(f"a whole or half number from -{MOST_KOMI} to {MOST_KOMI} is needed.")
    return komi


def _bounds(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    from verification.gate import MAX_ELO

    if text is None:
        return None
    try:
        low, high = (int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter("two whole numbers such as 0,30 are needed.") from None
    if not -MAX_ELO <= low < high <= MAX_ELO:
        raise click.BadParameter(f"the bounds must rise and lie from -{MAX_ELO} to {MAX_ELO}.")
    return low, high


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--games", type=click.IntRange(2, 100_000), default=100, show_default=True, help="Games, half with each colour."
)
@click.option("--visits", type=click.IntRange(2, 60000), help="Visits a move; default: the run's gate visits.")
@click.option("--size", type=click.IntRange(7, 19), help="Board size; default: as the run draws it.")
@click.option("--komi", type=float, callback=_half_points, help="Komi; default: as the run draws it.")
@click.option(
    "--sprt",
    metavar="E0,E1",
    callback=_bounds,
    help="Stop when the sequential test between these normalised Elo decides.",
)
@click.option("--sgf", type=click.Path(path_type=Path, file_okay=False), help="Folder for the games.")
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Games at once.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo/coordinator"),
    show_default=True,
    help="The directory of a node that has the run.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def match(
    a: str,
    b: str,
    games: int,
    visits: int | None,
    size: int | None,
    komi: float | None,
    sprt: tuple[int, int] | None,
    sgf: Path | None,
    threads: int,
    kernel: str | None,
    directory: Path,
    as_json: bool,
) -> int:
    """Play A against B: each a release (name, number, `latest`, `first`), a network file, or `random`."""
    from dataclasses import replace

    from node.cli.roles import parse_kernel
    from node.disk.home import Home
    from node.matches.match import MatchSettings, play_match
    from node.matches.opponent import Gallery, is_same_network
    from verification.setup import engine_config, game_rules, gate_setup

    if games % 2:
        raise click.BadParameter("an even number is needed, so that colours are swapped.", param_hint="--games")
    gallery = Gallery(Home(directory))
    manifest = gallery.manifest
    config = engine_config(manifest.gate_search)
    if visits is not None:
        config = replace(config, visits_full=visits, visits_fast=visits)

    def setup(seed: bytes) -> tuple["Rules", tuple[int, ...]]:
        drawn = gate_setup(manifest, gallery.state.release.steps, seed)
        if size is None and komi is None:
            return drawn.rules, drawn.opening_moves
        komi_half = drawn.rules.komi_half if komi is None else int(2 * komi)
        rules = game_rules(manifest.rules, size or drawn.rules.rows, komi_half)
        return rules, drawn.opening_moves if rules.rows == drawn.rules.rows else ()

    settings = MatchSettings(games, setup, sprt, sgf, threads)
    players = [_opponent(name, gallery, config, parse_kernel(kernel)) for name in (a, b)]
    if is_same_network(*players):
        click.echo(
            f"{players[0].name} and {players[1].name} are the same network: this match compares it with itself.",
            err=True,
        )
    progress = Progress(sys.stderr.isatty())
    result = play_match(players[0], players[1], settings, (lambda each: None) if as_json else progress.show)
    progress.end()
    click.echo(json.dumps(result.to_json()) if as_json else _table(result))
    return NO if result.verdict == "failed" else 0


def _opponent(name: str, gallery: "Gallery", config: object, kernel: object) -> "Opponent":
    from node.matches.opponent import NetworkOpponent, RandomOpponent, load_network_file

    if name == "random":
        return RandomOpponent()
    path = Path(name)
    if path.is_file():
        return NetworkOpponent(path.name, load_network_file(path), config, kernel)  # type: ignore[arg-type]
    known, network = gallery.network(name)
    return NetworkOpponent(known, network, config, kernel)  # type: ignore[arg-type]


class Progress:
    """The score so far on standard error: one line that is renewed on a terminal, else a line each ten seconds."""

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._next_s = time.monotonic() + LINE_EVERY_S
        self._is_open = False

    def show(self, result: "MatchResult") -> None:
        """Says how it stands, if it is time to."""
        line = f"{result.games} games: +{result.wins} ={result.draws} -{result.losses}"
        if self._is_terminal:
            click.echo(f"\r{line}", nl=False, err=True)
            self._is_open = True
        elif time.monotonic() >= self._next_s:
            click.echo(line, err=True)
            self._next_s = time.monotonic() + LINE_EVERY_S

    def end(self) -> None:
        """Leaves the renewed line as it stands."""
        if self._is_open:
            click.echo(err=True)


def _table(result: "MatchResult") -> str:
    found = result.to_json()
    lines = [
        f"{result.names[0]} against {result.names[1]}: {result.games} games",
        f"  wins {result.wins}, draws {result.draws}, losses {result.losses}, score {100 * result.score:.1f} %",
        f"  Elo {round(found['elo']):+d} +- {found['elo_error']:.0f} (95 %)",
    ]
    if result.verdict is not None:
        lines.append(f"  sequential test: {result.verdict} (llr {result.llr:.2f})")
    return "\n".join(lines)
