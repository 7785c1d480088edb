"""`gonode match A B`: which of two players is stronger, with error bars."""

import json
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import click

from node.cli.directory import of_run
from node.cli.main import NO

MOST_KOMI = 1000
LINE_EVERY_S = 10.0

if TYPE_CHECKING:
    from native.network import Kernel
    from native.search import SearchConfig
    from node.matches.match_result import MatchResult
    from node.matches.opponent import Gallery, Opponent
    from node.matches.setups import Setups


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
@click.option(
    "--openings",
    metavar="run|empty|FILE",
    default="run",
    show_default=True,
    help="The run's own, none, or those of a folder of SGF files, an SGF file or lines of moves.",
)
@click.option("--sgf", type=click.Path(path_type=Path, file_okay=False), help="Folder for the games.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File that gets each finished pair; the same command goes on where it ended.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(0.1, 86400),
    default=120,
    show_default=True,
    metavar="S",
    help="Seconds that an engine has for each GTP command.",
)
@click.option("--threads", type=click.IntRange(1, 256), default=1, show_default=True, help="Games at once.")
@click.option("--kernel", help="scalar, avx2, vnni, neon or neon-dot; default: the fastest of this machine.")
@of_run
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def match(
    a: str,
    b: str,
    games: int,
    visits: int | None,
    size: int | None,
    komi: float | None,
    sprt: tuple[int, int] | None,
    openings: str,
    sgf: Path | None,
    record: Path | None,
    deadline: float,
    threads: int,
    kernel: str | None,
    directory: Path,
    as_json: bool,
) -> int:
    """Play A against B: each a release (name, number, `latest`, `first`), a network file, `random`, or a program that
    speaks GTP: gtp:'COMMAND', or gtp:NAME='COMMAND'."""
    from node.cli.match_table import match_table
    from node.cli.options import parse_kernel
    from node.disk.home import Home
    from node.matches.match import MatchSettings, play_match
    from node.matches.match_record import open_record
    from node.matches.opponent import Gallery, is_same_network
    from node.matches.setups import make_setups

    if games % 2:
        raise click.BadParameter("an even number is needed, so that colours are swapped.", param_hint="--games")
    gallery = Gallery(Home(directory))
    config = _search(gallery, visits)
    komi_half = None if komi is None else int(2 * komi)
    setups = make_setups(gallery.manifest, gallery.state.release.steps, size, komi_half, openings)
    with ExitStack() as stack:
        # SIGTERM as Ctrl-C: engines have sessions of their own and would think on.
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, signal.default_int_handler))
        players = []
        for name in (a, b):
            players.append(_opponent(name, gallery, config, parse_kernel(kernel), deadline))
            stack.callback(players[-1].close)
        _verify_engines(players, setups)
        if is_same_network(*players):
            click.echo(
                f"{players[0].name} and {players[1].name} are the same network: this match compares it with itself.",
                err=True,
            )
        settings = MatchSettings(games, setups, sprt, sgf, threads)
        if record is not None:
            facts = {
                "run": gallery.state.run.hex(),
                "players": [{"name": player.name, "identity": player.identity} for player in players],
                "visits": config.visits_full,
                "search": sha256(repr(config).encode()).hexdigest()[:16],
                "size": size,
                "komi": komi,
                "openings": openings,
                "setups": setups.digest(),
                "sprt": None if sprt is None else list(sprt),
            }
            settings = replace(settings, record=stack.enter_context(open_record(record, facts)))
        progress = Progress(sys.stderr.isatty())
        result = play_match(players[0], players[1], settings, (lambda each: None) if as_json else progress.show)
        progress.end()
    click.echo(json.dumps(result.to_json()) if as_json else match_table(result))
    return NO if result.verdict == "failed" else 0


def _search(gallery: "Gallery", visits: int | None) -> "SearchConfig":
    """How releases search: as in the run's gates, with so many visits."""
    from verification.setup import engine_config

    config = engine_config(gallery.manifest.gate_search)
    return config if visits is None else replace(config, visits_full=visits, visits_fast=visits)


def _opponent(name: str, gallery: "Gallery", config: "SearchConfig", kernel: "Kernel", deadline_s: float) -> "Opponent":
    from node.matches.gtp_player import PREFIX, GtpOpponent
    from node.matches.opponent import NetworkOpponent, RandomOpponent, load_network_file

    if name == "random":
        return RandomOpponent()
    if name.startswith(PREFIX):
        return GtpOpponent(name.removeprefix(PREFIX), deadline_s)
    path = Path(name)
    if path.is_file():
        return NetworkOpponent(path.name, load_network_file(path), config, kernel)
    known, network = gallery.network(name)
    return NetworkOpponent(known, network, config, kernel)


def _verify_engines(players: Sequence["Opponent"], setups: "Setups") -> None:
    """Raises OpponentError for an engine that does not take up the first game."""
    from node.matches.gtp_player import GtpOpponent
    from node.matches.match import pair_seed

    rules, _ = setups(0, pair_seed(0))
    for player in players:
        if isinstance(player, GtpOpponent):
            player.verify_plays(rules)


class Progress:
    """The score so far on standard error: one line that is renewed on a terminal, else a line each ten seconds."""

    def __init__(self, is_terminal: bool) -> None:
        self._is_terminal = is_terminal
        self._next_s = time.monotonic() + LINE_EVERY_S
        self._is_open = False

    def show(self, result: "MatchResult") -> None:
        """Says how it stands, if it is time to."""
        score = result.total
        line = f"{score.games} games: +{score.wins} ={score.draws} -{score.losses}"
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
